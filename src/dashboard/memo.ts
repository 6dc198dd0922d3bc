/** A view that is drawn again only when one of its properties is another object. */
import { Component, type ComponentChildren, type ComponentClass } from "preact";

/** Properties are compared one by one, by identity. */
export function memo<P extends object>(view: (props: P) => ComponentChildren): ComponentClass<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before: Readonly<Record<string, unknown>> = { ...this.props };
      return Object.entries(next).some(([key, value]) => !Object.is(before[key], value));
    }

    override render(props: P): ComponentChildren {
      return view(props);
    }
  };
}
