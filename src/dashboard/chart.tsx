/** A chart of bars by day, with a key, a readout, and the same figures as a table for whoever can't see it. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { dayLabel, stacked, type Series } from "./chart-data.ts";

interface ChartProps {
  readonly title: string;
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Bars on top of one another; else side by side in one place, the smaller in front. */
  readonly isStacked: boolean;
}

const HEIGHT_PX = 190;
const LABEL_SPACE_PX = 64;
const LABEL_HEIGHT_PX = 30;
const VALUE_SPACE_PX = 56;

export function Chart(props: ChartProps) {
  const { title, days, series, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    return drawIn(element, props, setPointed);
  }, [days, series, format]);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <ul class="key">
          {series.map(({ name, colour }) => (
            <li key={name} class={`key-${colour}`}>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      <p class="readout number" aria-hidden="true">
        {pointed === null ? "" : readout(props, pointed)}
      </p>
      <ChartTable {...props} />
    </figure>
  );
}

function readout({ days, series, format }: ChartProps, index: number): string {
  const figures = series.map(({ name, values }) => `${name} ${format(values[index] ?? 0)}`);
  return `${dayLabel(days[index] ?? "")}: ${figures.join(", ")}`;
}

function ChartTable({ title, days, series, format }: ChartProps) {
  const told = days
    .map((day, index) => ({ day, index }))
    .filter(({ index }) => series.some(({ values }) => values[index] !== 0));
  return (
    <details>
      <summary>As a table</summary>
      <table>
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="end">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {told.map(({ day, index }) => (
            <tr key={day}>
              <th scope="row">{dayLabel(day)}</th>
              {series.map(({ name, values }) => (
                <td key={name} class="end number">
                  {format(values[index] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

/** Draws, and again when the place or the colours change; the answer takes it away. */
function drawIn(element: HTMLElement, props: ChartProps, point: (index: number | null) => void): () => void {
  let plot = new uPlot(optionsOf(element, props, point), dataOf(props), element);
  const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
  sizes.observe(element);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const redraw = (): void => {
    plot.destroy();
    plot = new uPlot(optionsOf(element, props, point), dataOf(props), element);
  };
  dark.addEventListener("change", redraw);
  return () => {
    dark.removeEventListener("change", redraw);
    sizes.disconnect();
    plot.destroy();
  };
}

/** The first drawn lies behind: the highest of a stack, or the larger of two. */
function dataOf({ days, series, isStacked }: ChartProps): uPlot.AlignedData {
  const columns = isStacked ? stacked(series) : series.map(({ values }) => values);
  return [days.map((_, index) => index), ...columns.toReversed().map((column) => [...column])];
}

/** A colour of the style sheet as it is just now: a canvas doesn't know light from dark. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf(element: HTMLElement, props: ChartProps, point: (index: number | null) => void): uPlot.Options {
  const { days, series, format } = props;
  const colour = (name: string): string => colourOf(element, name);
  const axis = {
    stroke: colour("--muted"),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    ticks: { show: false },
  };
  const { bars } = uPlot.paths;
  const paths = bars?.({ size: [0.66, 28], radius: 0.12 });
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        space: LABEL_SPACE_PX,
        size: LABEL_HEIGHT_PX,
        grid: { show: false },
        values: (_plot, splits) => splits.map((at) => (Number.isInteger(at) ? dayLabel(days[at] ?? "") : "")),
      },
      {
        ...axis,
        size: VALUE_SPACE_PX,
        grid: { stroke: colour("--line"), width: 1 },
        values: (_plot, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...series.toReversed().map((one) => ({
        label: one.name,
        fill: colour(`--chart-${one.colour}`),
        stroke: colour(`--chart-${one.colour}`),
        width: 0,
        points: { show: false },
        ...(paths === undefined ? {} : { paths }),
      })),
    ],
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
  };
}
