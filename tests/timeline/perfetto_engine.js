// Asks Perfetto's own trace processor (WebAssembly) about a trace: node perfetto_engine.js FOLDER TRACE < QUERIES.
// FOLDER has engine_bundle.js and trace_processor*.wasm; QUERIES is an object of SQL by name, as JSON; so is the answer.
// Requests and answers are protocol buffers (protos/perfetto/trace_processor/trace_processor.proto), made by hand.
"use strict";
const fs = require("fs");
const path = require("path");
const { MessageChannel } = require("worker_threads");
const [folder, trace] = process.argv.slice(2);

// The bundle is a worker's script: what it wants of one.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: "file:///" };
globalThis.XMLHttpRequest = class {
  open(method, url) { this.file = path.join(folder, path.basename(url)); }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
};
console.log = console.warn = () => {};
const bundle = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
new Function("process", "require", "module", "exports", bundle)();  // it must not see that this is node

function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return Buffer.from([...bytes, Number(value)]);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* varints(buffer) {
  for (let at = 0; at < buffer.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    yield [BigInt.asIntN(64, value), at];
  }
}
function first(buffer, at) {
  const [value, length] = varints(buffer.subarray(at)).next().value;
  return [value, at + length];
}
function* fields(buffer) {
  for (let at = 0; at < buffer.length; ) {
    let tag, value;
    [tag, at] = first(buffer, at);
    const kind = Number(tag & 7n);
    if (kind === 0) [value, at] = first(buffer, at);
    else {
      let size = 8n;
      if (kind === 2) [size, at] = first(buffer, at);
      else if (kind === 5) size = 4n;
      value = buffer.subarray(at, (at += Number(size)));
    }
    yield [Number(tag >> 3n), value];
  }
}

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const channel = new MessageChannel();
const waiting = [];
let sequence = 1, received = Buffer.alloc(0), answer;

channel.port1.on("message", (chunk) => {
  received = Buffer.concat([received, Buffer.from(chunk)]);
  for (const [, message] of fields(received)) take(message);  // whole messages alone are posted
  received = Buffer.alloc(0);
});

function take(message) {
  for (const [field, value] of fields(message)) {
    if (field === 5) throw new Error(`trace processor: ${value}`);
    if (field === 3 && Number(value) !== QUERY) waiting.shift()();
    if (field === 203 && rows(value)) waiting.shift()();
  }
}

function rows(result) {
  let last = false;
  for (const [field, value] of fields(result)) {
    if (field === 1) answer.columns.push(value.toString());
    if (field === 2) throw new Error(`query: ${value}`);
    if (field !== 3) continue;
    let cells = [], integers = [], reals = [], strings = [];
    for (const [part, content] of fields(value)) {
      if (part === 1) cells = [...varints(content)].map(([cell]) => Number(cell));
      if (part === 2) integers = [...varints(content)].map(([cell]) => Number(cell));
      if (part === 3) for (let at = 0; at < content.length; at += 8) reals.push(content.readDoubleLE(at));
      if (part === 5) strings = content.toString().split("\0");
      if (part === 6) last = content === 1n;
    }
    const next = { 2: () => integers.shift(), 3: () => reals.shift(), 4: () => strings.shift() };
    for (const cell of cells) answer.cells.push(next[cell] ? next[cell]() : null);
  }
  return last;
}

function ask(method, content = Buffer.alloc(0)) {
  return new Promise((resolve) => {
    waiting.push(resolve);
    const message = Buffer.concat([number(1, sequence++), number(2, method), content]);
    channel.port1.postMessage(new Uint8Array(bytes(1, message)));
  });
}

async function main() {
  const queries = JSON.parse(fs.readFileSync(0, "utf8"));
  await new Promise((resolve) => setImmediate(resolve));
  self.onmessage({ data: channel.port2 });
  await ask(APPEND, bytes(101, fs.readFileSync(trace)));
  await ask(FINALIZE);
  const found = {};
  for (const [name, query] of Object.entries(queries)) {
    answer = { columns: [], cells: [] };
    await ask(QUERY, bytes(103, bytes(1, Buffer.from(query))));
    const width = answer.columns.length;
    found[name] = [];
    while (answer.cells.length) found[name].push(answer.cells.splice(0, width));
  }
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
}
process.on("uncaughtException", (error) => { console.error(error); process.exit(1); });
main();
