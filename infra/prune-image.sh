#!/bin/sh
# Removes from an installation what only tests, the demo and older versions of Node.js need. Run in the root of the copy
# that becomes the image, after `npm ci --omit=dev`.
set -eu

rm -rf packages/testkit packages/simulator services/platform/demo
rm -rf node_modules/@odograph/testkit node_modules/@odograph/simulator
# For programs that call the platform.
rm -rf packages/client node_modules/@odograph/client node_modules/openapi-fetch
# Node.js 24 runs TypeScript directly; esbuild is for Node.js 20.
rm -rf node_modules/esbuild node_modules/@esbuild node_modules/.bin/esbuild
# A peer dependency for type checks only.
rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin/tsc
# Variants of OpenTelemetry for bundlers; Node.js loads build/src.
rm -rf node_modules/@opentelemetry/*/build/esm node_modules/@opentelemetry/*/build/esnext
find packages services \( -name '*.test.ts' -o -name '*.fixture.ts' -o -name '*.fixture.mjs' \) -type f -delete
find node_modules/ \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -type f -delete
