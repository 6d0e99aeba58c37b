// Types for `make check`: the elements of the pages by their ids, and what the server sends. Browsers never load this.

interface PageElements {
  // The rating page
  bar: HTMLProgressElement;
  comment: HTMLInputElement | null; // only where the campaign takes comments
  count: HTMLElement;
  empty: HTMLElement;
  guidance: HTMLElement;
  help: HTMLButtonElement;
  instructions: HTMLDialogElement;
  left: HTMLElement;
  pair: HTMLElement;
  prompt: HTMLElement;
  question: HTMLElement;
  right: HTMLElement;
  status: HTMLElement;
  undo: HTMLButtonElement;
  which: HTMLElement | null; // only with several questions
  // The page on which raters enrol
  enrol: HTMLFormElement | null; // only while places are left
  name: HTMLInputElement;
  // The dashboard and the pages of answers
  advice: HTMLElement;
  auc: SVGElement;
  dashboard: HTMLElement;
  doubt: SVGElement;
  group: HTMLSelectElement | null; // only with groups
  judges: HTMLTableElement;
  left_out: HTMLElement;
  new_instructions: HTMLTextAreaElement;
  new_question: HTMLInputElement;
  people: HTMLTableElement;
  problem: HTMLElement;
  programs: HTMLElement;
  ranked: HTMLElement;
  ranking: HTMLElement;
  rows: HTMLElement;
  saved: HTMLElement;
  scale: SVGElement;
  search: HTMLInputElement;
  sentences: HTMLElement;
  spent: HTMLProgressElement;
  standing: HTMLElement;
  unranked: HTMLElement;
  verdict: HTMLElement;
  waits: HTMLElement;
  wording: HTMLFormElement;
}

// The rating page: the server's models are in contract.py

type Side = "left" | "right";
type Choice = Side | "tie" | "skip";
type Strength = "slightly" | "much";

interface Part {
  kind: "text" | "markdown" | "image" | "audio";
  text: string;
  html: string;
  url: string;
}

interface Wording {
  number: number;
  question: string;
  instructions: string;
}

interface Pair {
  lease: string;
  question: number;
  prompt: Part | null;
  left_id: string;
  right_id: string;
  left: Part[];
  right: Part[];
  wording: Wording;
}

interface PreparedPair extends Pair {
  elements: Record<Side | "prompt", HTMLElement[]>;
}

interface Answer {
  lease: string;
  choice: Choice;
  seconds: number;
  strength?: Strength;
  comment?: string;
}

interface Progress {
  answers: number;
  yours: number;
  goal: number | null;
  quota: number | null;
  undo: string | null;
}

type Zoom = (factor: number, at?: [number, number], by?: [number, number]) => boolean;

// The dashboard

interface Point {
  answers: number;
  value: number;
  low?: number | null;
  high?: number | null;
}

interface RankedItem {
  rank: number;
  id: string;
  group: string | null;
  text: string;
  picture: string | null;
  score: number;
  low: number;
  high: number;
  best: number;
  worst: number;
}

interface ReportedRater {
  [column: string]: any;
  name: string;
  answers: number;
  excluded?: boolean;
  flags?: string[];
}

interface Advice {
  text: string;
  stop: boolean;
  more?: string[];
}

interface Course {
  state: "open" | "paused" | "closed";
  over: string | null;
  goals: string[];
  given: number;
  goal: number | null;
}
