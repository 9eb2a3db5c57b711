// Runs the Khronos validator over .glb files: npm install gltf-validator, then node validate_gltf.mjs FILE…
// Exits 1 if one of them has an error.
import { readFileSync } from 'node:fs';
import validator from 'gltf-validator';

let failed = false;
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), { maxIssues: 20 });
  const { numErrors, numWarnings, messages } = report.issues;
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings`);
  for (const m of messages.filter((m) => m.severity < 2)) console.log(`  ${m.code} ${m.pointer}: ${m.message}`);
  failed ||= numErrors > 0;
}
process.exit(failed ? 1 : 0);
