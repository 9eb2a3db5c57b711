#!/usr/bin/env bash
# The shaders by the compiler of Chromium (Tint), as a page would have them: wgpu's own accepts more in places. Needs
# Node; installs the npm package `webgpu` into a folder of its own. No adapter is asked for.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm > /dev/null || { echo "no npm: install Node" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo run --locked --quiet -p meshreel-gpu --example wgsl -- "$folder"
cd "$folder"
npm install --silent --no-audit --no-fund webgpu@0.6.2 > /dev/null
cat > check.mjs <<'JS'
import { create, globals } from 'webgpu';
import { readFileSync, readdirSync } from 'node:fs';
Object.assign(globalThis, globals);
// Held for as long as the program runs: the package does not keep its own alive.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
globalThis.held = [gpu, adapter, device];
let wrong = 0;
for (const name of readdirSync('.').filter((name) => name.endsWith('.wgsl'))) {
  const code = readFileSync(name, 'utf8');
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  for (const { type, lineNum, message } of messages) console.log(`${name}:${lineNum}: ${type}: ${message}`);
  const failed = messages.some(({ type }) => type === 'error');
  wrong += failed;
  console.log(`${name}: ${failed ? 'refused' : 'ok'}`);
}
process.exit(wrong ? 1 : 0);
JS
node check.mjs
