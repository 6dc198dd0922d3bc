/** Lint: correctness first, types taken seriously, small files, and folders whose arrows go one way. */
import { defineConfig } from "oxlint";
import { folderArrows } from "./scripts/folder-arrows.ts";

const TESTS = ["src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.ts", "bench/**/*.ts"];

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "node", "promise", "vitest"],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: ["dist/**", ".cache/**", "coverage/**"],
  env: { node: true, es2024: true },
  rules: {
    // Size.
    "max-lines": ["error", { max: 400, skipBlankLines: false, skipComments: false }],
    "max-lines-per-function": ["error", { max: 60, skipBlankLines: false, skipComments: false }],
    "max-params": ["error", { max: 4 }],
    "max-depth": ["error", { max: 4 }],
    complexity: ["error", { max: 20, variant: "modified" }],

    // Modules.
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "import/no-duplicates": "error",
    "import/no-mutable-exports": "error",
    "import/no-named-as-default-member": "off", // `fc.string()` is how fast-check reads.
    "import/extensions": ["error", "ignorePackages"],
    "oxc/no-barrel-file": ["error", { threshold: 0 }],
    "unicorn/prefer-node-protocol": "error",
    "unicorn/filename-case": ["error", { case: "kebabCase" }],

    // Types.
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/non-nullable-type-assertion-style": "off", // Its advice is `!`.
    "typescript/consistent-type-imports": [
      "error",
      { disallowTypeAnnotations: true, fixStyle: "separate-type-imports" },
    ],
    "typescript/consistent-type-exports": "error",
    "typescript/consistent-type-assertions": ["error", { assertionStyle: "as", objectLiteralTypeAssertions: "never" }],
    "typescript/ban-ts-comment": "error",
    "typescript/no-namespace": "error",
    "typescript/no-require-imports": "error",
    "typescript/no-unsafe-argument": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-function-type": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/no-unsafe-type-assertion": "off", // Brands and parsers assert; a reviewer sees to it that nothing else does.
    "typescript/parameter-properties": ["error", { prefer: "class-property" }],
    "typescript/prefer-readonly": "error",
    "typescript/use-unknown-in-catch-callback-variable": "error",
    // A default that is not assertNever is a choice; one that is fails to compile when a kind is missing.
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "typescript/unbound-method": "off", // Ports are often closures, whose methods carry no this.

    // Promises and errors.
    "typescript/no-floating-promises": ["error", { ignoreVoid: true, checkThenables: true }],
    "typescript/no-misused-promises": "error",
    "typescript/await-thenable": "error",
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "no-empty": "error",
    "preserve-caught-error": "error",

    // One way to say a thing.
    curly: ["error", "multi-line"],
    eqeqeq: "error",
    "func-style": ["error", "declaration", { allowArrowFunctions: true }],
    "no-console": "error",
    "no-else-return": "error",
    "no-nested-ternary": "error",
    "no-param-reassign": "error",
    "no-sequences": "error",
    "no-unmodified-loop-condition": "off", // Doesn't see what a call or an await changes.
    "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "all" }],
    "no-var": "error",
    "no-warning-comments": "error",
    "object-shorthand": "error",
    "prefer-const": "error",
    "typescript/prefer-nullish-coalescing": "error",
    "typescript/prefer-optional-chain": "error",
    "unicorn/consistent-function-scoping": "off", // Small functions stand where they are read.
    "unicorn/no-abusive-eslint-disable": "error",
    "unicorn/no-process-exit": "error",
    "unicorn/prefer-at": "error",
    "unicorn/throw-new-error": "error",
  },
  overrides: [
    ...folderArrows,
    {
      files: TESTS,
      rules: {
        "max-lines-per-function": "off",
        "typescript/no-unsafe-assignment": "off", // Expect matchers such as expect.any() are typed any.
        "vitest/expect-expect": ["error", { assertFunctionNames: ["expect*", "assert*", "fc.assert"] }],
        "vitest/no-conditional-expect": "off", // Shared checks look at fields that may be null.
        "vitest/no-standalone-expect": "off", // Contract suites check in functions.
        "vitest/valid-describe-callback": "off", // `() => describePart(harness)` reads well.
        "vitest/valid-expect": ["error", { maxArgs: 2 }],
      },
    },
    // Plain JavaScript for an old Node: there are no types to be safe about.
    {
      files: ["scripts/*.mjs"],
      rules: Object.fromEntries(
        ["argument", "assignment", "call", "member-access"].map((what) => [
          `typescript/no-unsafe-${what}`,
          "off" as const,
        ]),
      ),
    },
    // Tools read their configuration from a default export.
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
  ],
});
