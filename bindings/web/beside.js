// A plugin of esbuild for bundles that have the worker and the modules beside them.

import { readFileSync } from 'node:fs'

/** Code that looks for the files of `dist/` in `folder`, relative to the bundle. */
export const besideBundle = folder => ({
    name: 'beside',
    setup: ({ onLoad }) =>
        onLoad({ filter: /src.assets\.js$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8').replaceAll("'../dist/", `'${folder}`),
        })),
})
