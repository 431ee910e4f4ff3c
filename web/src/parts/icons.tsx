// SPDX-License-Identifier: Apache-2.0
// Small pictures of 16 x 16, drawn with the ink of their surroundings. They never stand alone: a text says the same.
import type { JSX } from "preact";

const paths = {
  pending: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M8 4.5V8l2.4 1.6",
  cluster: "M2.25 2.75h4.5v4h-4.5zM9.25 2.75h4.5v4h-4.5zM2.25 9.25h4.5v4h-4.5zM9.25 9.25h4.5v4h-4.5z",
  decisions: "M2.5 4h7M2.5 8h5M2.5 12h7M11 8.2l1.6 1.6 2.6-3.4",
  whatif: "M4.5 2.25v7.5M4.5 9.75a2 2 0 1 0 0 4 2 2 0 0 0 0-4M11.5 2.25a2 2 0 1 0 0 4 2 2 0 0 0 0-4M11.5 6.25c0 3-2.5 4-5.2 4.6",
  numbers: "M2.25 13.25h11.5M3.5 10.5l3-4 2.5 2 4-5.5",
  reports: "M2.25 3.25h5v9.5h-5zM8.75 3.25h5v9.5h-5zM4 6h1.5M4 8.5h1.5M10.5 6H12M10.5 8.5H12",
  search: "M7 2.25a4.75 4.75 0 1 0 0 9.5 4.75 4.75 0 0 0 0-9.5M10.5 10.5l3.25 3.25",
  help: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M6.2 6.3c.1-1 .9-1.6 1.8-1.6 1 0 1.8.6 1.8 1.6 0 1.2-1.8 1.4-1.8 2.6M8 11.2v.1",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  dark: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6",
  system: "M2.25 3.25h11.5v7.5H2.25zM5.5 13.25h5M8 10.75v2.5",
  close: "M4 4l8 8M12 4l-8 8",
  right: "M6 3.5L10.5 8 6 12.5",
  down: "M3.5 6L8 10.5 12.5 6",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  whole: "M2.75 6V2.75H6M10 2.75h3.25V6M13.25 10v3.25H10M6 13.25H2.75V10",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

/** The mark of berth: a hull between two quays. */
export function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path d="M1.5 3v14M18.5 3v14" stroke="currentColor" stroke-width="2" stroke-linecap="round" fill="none" />
      <path d="M5 6.5h10v4.2c0 3-2.2 5.3-5 6.3-2.8-1-5-3.3-5-6.3z" fill="currentColor" />
    </svg>
  );
}
