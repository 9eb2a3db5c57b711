#!/usr/bin/env bash
# Signs programs for macOS, and has Apple notarize them, so that they run when a browser has loaded them.
#   tools/release/sign-macos.sh FILE…
# From the environment: APPLE_CERTIFICATE ("Developer ID Application", .p12 in base64) and
# APPLE_CERTIFICATE_PASSWORD; a key of App Store Connect: APPLE_KEY (.p8 in base64), APPLE_KEY_ID and
# APPLE_KEY_ISSUER.
set -euo pipefail
made=$(mktemp -d)
keychain=$made/signing.keychain-db
trap 'security delete-keychain "$keychain" || true; rm -rf "$made"' EXIT
password=$(uuidgen)
base64 --decode <<< "$APPLE_CERTIFICATE" > "$made/certificate.p12"
base64 --decode <<< "$APPLE_KEY" > "$made/key.p8"

security create-keychain -p "$password" "$keychain"
security unlock-keychain -p "$password" "$keychain"
security import "$made/certificate.p12" -k "$keychain" -P "$APPLE_CERTIFICATE_PASSWORD" -T /usr/bin/codesign
security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain" > /dev/null
# codesign finds certificates in listed keychains only.
security list-keychains -d user -s "$keychain" login.keychain
identity=$(security find-identity -v -p codesigning "$keychain" | awk 'NR == 1 {print $2}')
codesign --force --timestamp --options runtime --keychain "$keychain" --sign "$identity" "$@"

zip -qj "$made/programs.zip" "$@"
xcrun notarytool submit "$made/programs.zip" --wait \
    --key "$made/key.p8" --key-id "$APPLE_KEY_ID" --issuer "$APPLE_KEY_ISSUER" | tee "$made/answer"
grep -q 'status: Accepted' "$made/answer"
