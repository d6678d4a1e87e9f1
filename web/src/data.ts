// What the page shows, as `tessera report` writes it. Keys are those of `result.json` and of
// `tessera explain --json`.

export interface TensorShare {
  kept: boolean;
  tile_words: number;
  reads: number;
  fills: number;
  updates: number;
  energy_pj: number;
  network_pj: number;
}

export interface LevelShare {
  name: string;
  instances: number;
  used_instances: number;
  words: number | null;
  used_words: number;
  moved_words: number;
  cycles: number;
  bandwidth: string;
  words_per_cycle: number | null;
  energy_pj: number;
  bound_pj: number | null;
  tensors: Record<string, TensorShare>;
}

export interface Explained {
  name: string;
  count: number;
  layer: string;
  status: string;
  cycles?: number;
  macs: number;
  total_pj: number;
  value: number;
  energy_pj: Record<string, Record<string, number>>;
  mac_pj: number;
  leakage_pj: number;
  limited_by: string;
  cycles_if_lifted: number;
  compute_cycles: number;
  limit: string;
  mac_units: number;
  used_mac_units: number;
  mac_cycles: Record<"useful" | "padding" | "ragged" | "unused" | "waiting", number>;
  roofline: {
    macs_per_cycle: number;
    peak_macs_per_cycle: number;
    mapped_macs_per_cycle: number | null;
    macs_per_word: number | null;
    ceilings: {
      level: string;
      words_per_cycle: number | null;
      macs_per_word: number | null;
      macs_per_cycle: number | null;
    }[];
  };
  bounds: {
    cycles: number | null;
    cycles_from: string;
    cycles_gap: number | null;
    energy_pj: number | null;
    energy_gap: number | null;
    objective: number | null;
    objective_gap: number | null;
    tight: string[];
  };
  levels: LevelShare[];
}

export interface Loops {
  perm: string[];
  factors: Record<string, number>;
  split?: number;
}

export interface MappingLevel {
  name: string;
  keep: string[];
  temporal: Loops;
  spatial: Loops | null;
}

export interface ResultLayer {
  name: string;
  count: number;
  cycles: number | null;
  energy_pj: number | null;
  edp: number | null;
  value: number | null;
  bound: number | null;
  gap: number | null;
  status: string;
  samples: number;
  utilization: number | null;
  mapping: { levels: MappingLevel[] } | unknown[] | null;
  agents?: string[][];
}

export interface Search {
  layer: string;
  samples: number;
  curve: [number, number][];
  outcomes: { feasible: number; infeasible: number; failed: number };
  reasons: [string, number][];
  decisions: { name: string; values: number; evenness: number[]; favourites: (string | null)[] }[];
  correlation: Correlation | null;
}

// Of the best samples: hundredths of r below the diagonal, the reward last; merges of the tree.
export interface Correlation {
  names: string[];
  kept: number;
  rows: number[][];
  merges: [number, number, number][];
  order: number[];
}

// What runs of all kinds have.
interface Common {
  folder: string;
  command: string;
  version: string;
  seed: number;
  id: string;
  inputs: Record<string, string>;
  seconds: number | null;
  live?: unknown; // of a run that goes on (live.ts)
}

// What `map` decided between layers, as far as pages show it.
export interface InterLayer {
  homes: Record<string, string>; // tensor -> level
  groups: { layers: string[]; level: string }[];
  none: { cycles: number; energy_pj: number };
  stages: {
    nodes: string[];
    level: string | null;
    slices: number;
    pinned: string[];
    homes: Record<string, string>;
    cycles: number;
    energy_pj: number;
    saves: { cycles: number; energy_pj: number; outer_words: number };
  }[];
}

export interface NetworkGraph {
  nodes: { name: string; type: string; layer: string | null }[]; // in execution order
  edges: [number, number, number][]; // from, to, words
}

export interface Run extends Common {
  kind: "map";
  result: {
    network: string;
    accelerator: string;
    model: string;
    objective: string;
    method: string;
    space?: string;
    stopped_by?: string;
    inter_layer?: InterLayer;
    layers: ResultLayer[];
    total: {
      layers: number;
      cycles: number;
      energy_pj: number;
      edp: number;
      value: number;
      bound: number | null;
      gap: number | null;
      utilization: number;
      samples: number;
    };
  };
  explain: { layers: Explained[] } | null;
  explain_error?: string;
  search: Search[];
  graph: NetworkGraph | null;
  proofs: Record<string, [number, number, number | null][]>; // rounds, bound, value
}

export interface CompareRun extends Common {
  kind: "compare";
  result: {
    network: string;
    layer: string;
    accelerator: string;
    model: string;
    objective: string;
    budget: number;
    log10_space: number;
    best_known: number | null;
    bound: number | null;
    results: { method: string; seed: number; samples: number; best: number | null; infeasible_samples: number; curve: [number, number][];
      return_curve?: [number, number][] }[];
    summary: {
      method: string;
      median: number | null;
      lower_quartile: number | null;
      upper_quartile: number | null;
      samples_to_10pct: number | null;
      samples_to_5pct: number | null;
      samples_to_1pct: number | null;
    }[];
  };
}

export interface CooptLayer {
  name: string;
  count: number;
  cycles: number;
  floor_cycles: number;
  energy_pj: number;
  schedule: string;
  measurements: number;
}

export interface Machine {
  name: string;
  values: number[]; // base-2 logarithms, one per knob
  area: number;
  cycles: number;
  chosen: boolean;
}

export interface Timeline {
  layer: string;
  cycles: number;
  stages: {
    name: string;
    instructions: number;
    busy_cycles: number;
    token_cycles: number;
    fetch_cycles: number;
    bus_cycles: number;
    spans: [number, number, number][]; // start, end, busy cycles
  }[];
}

export interface CooptRun extends Common {
  kind: "cooptimize";
  more: { measured: number; knobs: string[]; machines: Machine[]; timelines: Timeline[] };
  result: {
    network: string;
    target: string;
    method: string;
    objective: string;
    clock_mhz: number;
    hardware: Record<string, string | number | boolean> & { name: string; macs: number; sram_bytes: number; area: number };
    layers: CooptLayer[];
    left_out: { name: string; count: number; why: string }[];
    cycles: number;
    floor_cycles: number;
    throughput: number;
    measurements: number;
    invalid: number;
    refused: number;
    hardware_space: number;
    curve: [number, number][];
    pareto: { hardware: string; area: number; cycles: number; throughput: number }[];
  };
}

export interface TrainRun extends Common {
  kind: "train";
  more: { episode: string | null; episode_return: number | null; phases: { name: string; seconds: number }[] };
  result: {
    rows_of?: number; // rows before some were left out
    config: { env: string; algorithm: string; env_settings: Record<string, string>; settings: Record<string, string>; envs: number };
    episodes: number;
    progress: {
      episodes: number;
      env_steps: number;
      updates: number;
      team_return: number;
      team_return_ci95: number;
      agent_return: number;
      q_loss: number;
      p_loss: number;
      entropy: number;
    }[];
  };
}

export interface StudyUnit {
  unit: number;
  network: string;
  layer: string | null;
  accelerator: string;
  objective: string;
  method: string;
  seed: number;
  state: string;
  status?: string;
  cycles?: number | null;
  energy_pj?: number | null;
  edp?: number | null;
  gap?: number | null;
  samples?: number;
  error?: string | null;
}

export interface StudyRun extends Common {
  kind: "study";
  result: { study: string; part: string; done: number; failed: number; open: number; units: StudyUnit[] };
}

export type Choice = number | string | boolean | null; // of a field of a template, or of what is varied

export interface ExploredMachine {
  machine: Record<string, Choice>;
  number: number;
  cycles: number;
  energy_pj: number;
  edp: number;
  area_um2: number | null;
  power_mw: number;
  status: string;
  gap: number;
  limited_by: string;
  networks: { name: string; cycles: number; energy_pj: number; edp: number }[];
}

export interface ExploreRun extends Common {
  kind: "explore";
  result: {
    networks: string;
    objective: string;
    pareto: string[];
    method: string;
    machines: number;
    mapped: number;
    discarded_by_bound: number;
    discarded_by_limit: number;
    impossible: number;
    not_looked_at: number;
    best: ExploredMachine | null;
    front: ExploredMachine[];
    gap: number | null;
    certificate: string;
    stopped_by: string;
  };
}

export interface SweepPoint {
  values: Record<string, Choice>;
  cycles: number | null;
  energy_pj: number | null;
  edp: number | null;
  area_um2: number | null;
  status: string;
  gap: number | null;
  limited_by: string | null;
  relative: number | null; // to the first point's objective
  why?: string;
}

export interface SweepRun extends Common {
  kind: "sweep";
  result: { network: string; objective: string; points: SweepPoint[]; knee: Record<string, Choice> | null };
}

export type AnyRun = Run | CompareRun | CooptRun | TrainRun | StudyRun | ExploreRun | SweepRun;

export interface DiffLayer {
  name: string;
  a: Explained | null;
  b: Explained | null;
  same_mapping?: boolean;
  delta_cycles?: number;
  delta_energy_pj: number;
  delta_mac_pj: number;
  delta: Record<string, Record<string, number>>;
}

export interface Diff {
  layers: DiffLayer[];
  total: {
    a: { cycles: number; energy_pj: number; edp: number };
    b: { cycles: number; energy_pj: number; edp: number };
    delta_cycles: number;
    delta_energy_pj: number;
    delta_mac_pj: number;
    delta: Record<string, Record<string, number>>;
  };
}

export interface Data {
  version: string;
  runs: AnyRun[];
  diffs: (Diff | null)[]; // of the first run and each later one
  served?: boolean; // by `tessera serve`: data are to be asked for
}

export function readData(): Data {
  const element = document.getElementById("data");
  return JSON.parse(element?.textContent ?? "null") as Data;
}

// A layer that has a mapping, with what explains it.
export function isMapped(layer: Explained): boolean {
  return layer.cycles !== undefined;
}
