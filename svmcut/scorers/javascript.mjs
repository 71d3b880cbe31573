// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of the modules that svmcut.scorers.javascript writes.

//@ cell
/** A cell as a text; null where it is missing. */
function cellText(cell) {
  if (cell === null || cell === undefined || Number.isNaN(cell)) return null;
  const plain = typeof cell === "number" && (cell === 0 || (Math.abs(cell) >= 1e-4 && Math.abs(cell) < 1e16));
  if (typeof cell !== "string" && typeof cell !== "boolean" && !plain)
    throw new TypeError("a cell is a text, a boolean or a number");
  return String(cell).replace(/^[ \t\r\n]+|[ \t\r\n]+$$/g, "") || null;
}
//@ number
const DIGITS = /^[-+]?(?!0[0-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$$/;
const NOTHING = ["na", "n/a", "nan", "-nan", "null", "none", "?", "#n/a"];

function readNumber(cell, isBoolean) {
  if (typeof cell === "number" && Number.isFinite(cell)) return cell;
  const text = cellText(cell);
  const low = text === null ? null : text.toLowerCase();
  if (low === null || NOTHING.includes(low)) return NaN;
  if (typeof cell === "boolean" || (isBoolean && (low === "true" || low === "false")))
    return Number(low === "true");
  const value = DIGITS.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new RangeError(JSON.stringify(text) + " is no finite number");
  return value;
}

function encodeNumber(put, cell, first, mean, scale, fill, missing, isBoolean) {
  const value = readNumber(cell, isBoolean);
  const absent = Number.isNaN(value);
  put(first, Math.fround(((absent ? fill : value) - mean) * scale));
  if (absent && missing !== null) put(missing, 1);
}
//@ category
function encodeCategory(put, cell, places, missing) {
  const text = cellText(cell);
  const place = text === null ? missing : (places.get(text) ?? null);
  if (place !== null) put(place, 1);
}
//@ hash
/** murmurhash3_x86_32, signed. */
function hashed(word) {
  const data = new TextEncoder().encode(word);
  let h = 0;
  for (let start = 0; start < data.length; start += 4) {
    let k = 0;
    for (let i = Math.min(start + 3, data.length - 1); i >= start; --i) k = (k << 8) | data[i];
    k = Math.imul(k, 0xcc9e2d51);
    h ^= Math.imul((k << 15) | (k >>> 17), 0x1b873593);
    if (start + 4 <= data.length) h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  h ^= data.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
//@ text
function encodeText(put, cell, first, places, idf, lengths, isLog, isNormed) {
  const words = (cellText(cell) ?? "").toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  const counts = new Map();
  for (let length = lengths[0]; length <= lengths[1]; ++length)
    for (let start = 0; start + length <= words.length; ++start) {
      const term = words.slice(start, start + length).join(" ");
      const hash = typeof places === "number" ? hashed(term) : 0;
      const place = typeof places === "number" ? Math.abs(hash) % 2 ** places : places.get(term);
      if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + (hash < 0 ? -1 : 1));
    }
  const rising = [...counts.keys()].sort((a, b) => a - b);
  const values = new Map();
  let squares = 0;
  for (const place of typeof places === "number" ? rising : counts.keys()) {
    const count = counts.get(place);
    const value = (isLog && count ? 1 + Math.log(count) : count) * (idf === null ? 1 : idf[place]);
    values.set(place, value);
    squares += value * value;
  }
  const size = isNormed && squares > 0 ? Math.sqrt(squares) : 1;
  for (const place of rising) put(first + place, Math.fround(values.get(place) / size));
}
//@ features
function featuresOf(row) {
  const features = new Map();
  const put = (feature, value) => value !== 0 && features.set(feature, value);
  const cells = COLUMNS.length === 1 && typeof row === "string" ? { [COLUMNS[0][0]]: row } : row;
  for (const [name, encode, ...how] of COLUMNS) {
    if (!Object.hasOwn(cells, name)) throw new RangeError("no column " + JSON.stringify(name));
    encode(put, cells[name], ...how);
  }
  return features;
}
//@ sparse
/** Features of an object by their numbers, from 1 on. */
function featuresOf(row) {
  const pairs = Object.entries(row).map(([number, value]) => [Number(number) - 1, Math.fround(value)]);
  return new Map(pairs.filter((pair) => pair[1] !== 0).sort((a, b) => a[0] - b[0]));
}
//@ linear
function sumsOf(row) {
  const sums = CONSTANTS.map(() => 0);
  for (const [feature, value] of featuresOf(row)) {
    const own = WEIGHTS[feature] ?? [];
    for (let k = 0; k < own.length; ++k) sums[k] += value * own[k];
  }
  return sums.map((sum, k) => sum + CONSTANTS[k]);
}
//@ distance
    if (4 * $gamma * (LARGEST + own) * 2 ** -53 > 1e-12) {
      const there = new Map(vector);
      const all = [...new Set([...features.keys(), ...there.keys()])].sort((a, b) => a - b);
      value = 0;
      for (const j of all) value += ((features.get(j) ?? 0) - (there.get(j) ?? 0)) ** 2;
    } else {
      value = Math.max(norm((z) => z[1], vector) - 2 * value + own, 0);
    }
//@ kernel
function norm(read, entries) {
  let sum = 0;
  for (const entry of entries) sum += read(entry) * read(entry);
  return sum;
}

const LARGEST = SUPPORT.reduce((most, vector) => Math.max(most, norm((z) => z[1], vector)), 0);

function sumsOf(row) {
  const features = featuresOf(row);
$own  const values = SUPPORT.map((vector) => {
    let value = 0;
    for (const [j, z] of vector) value += (features.get(j) ?? 0) * z;
$distance    return $form;
  });
  return CONSTANTS.map((constant, k) => {
    let sum = 0;
    for (let e = STARTS[k]; e < STARTS[k + 1]; ++e) sum += ALPHA[e] * values[PLACES[e]];
    return sum + constant;
  });
}
//@ score
/**
 * The score of a row.
 * @param {$row} row
 * @returns {number}
 */
export function score(row) {
  return sumsOf(row)[0];
}
//@ label
/**
 * The label of a row.
 * @param {$row} row
 * @returns {string|number}
 */
export function label(row) {
  return LABELS[Number(score(row) $sign 0)];
}
//@ sigmoid
/**
 * The probability of the label LABELS[1].
 * @param {$row} row
 * @returns {number}
 */
export function probability(row) {
  const z = $slope * (score(row)$shift) + $offset;
  const least = Math.exp(-Math.abs(z));
  return (z >= 0 ? least : 1) / (1 + least);
}
//@ scores
/**
 * The scores of all labels, in the order of LABELS.
 * @param {$row} row
 * @returns {number[]}
 */
export function score(row) {
  return sumsOf(row);
}
//@ votes
/**
 * The votes of all pairs of labels for each, in the order of LABELS.
 * @param {$row} row
 * @returns {number[]}
 */
export function score(row) {
  const votes = LABELS.map(() => 0);
  const sums = sumsOf(row);
  for (let a = 0, pair = 0; a < votes.length; ++a)
    for (let b = a + 1; b < votes.length; ++b) votes[sums[pair++] > 0 ? a : b] += 1;
  return votes;
}
//@ largest
/**
 * The label with the largest score, the first of equal ones.
 * @param {$row} row
 * @returns {string|number}
 */
export function label(row) {
  const scores = score(row);
  return LABELS[scores.indexOf(Math.max(...scores))];
}
//@ softmax
/**
 * The probabilities of all labels, in the order of LABELS.
 * @param {$row} row
 * @returns {number[]}
 */
export function probability(row) {
  const scores = score(row);
  const most = Math.max(...scores);
  const parts = scores.map((value) => Math.exp($t * (value - most)));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}
//@ shares
/**
 * The probabilities of all labels, in the order of LABELS.
 * @param {$row} row
 * @returns {number[]}
 */
export function probability(row) {
  const parts = score(row).map((value) => {
    const least = Math.exp(-Math.abs(value));
    return (value > 0 ? 1 : least) / (1 + least);
  });
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}
