#!/usr/bin/env bash
# Builds the real control plane from the Go modules beside this file into target/control-plane/<module>/.
#
#   build.sh [MODULE...]     default: kubernetes cert-manager tools
#
# A module is built only when its files or the flags changed since the last time.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out="${CARGO_TARGET_DIR:-$root/target}/control-plane"
export CGO_ENABLED=0
version=1.36.3
stamp_package=k8s.io/component-base/version
ldflags="-s -w -X $stamp_package.gitVersion=v$version -X $stamp_package.gitMajor=1 -X $stamp_package.gitMinor=36"

declare -A makes=(
  [kubernetes]="kube-apiserver kube-controller-manager kube-scheduler kubectl kwok server"
  [cert-manager]="controller cainjector"
  [tools]="helm server"
)
declare -A takes=(
  [kubernetes]="about 4 to 5 minutes on two cores"
  [cert-manager]="about 2 minutes on two cores"
  [tools]="about 1 to 2 minutes on two cores"
)

checksum() {
  { cat "$here/$1/go.mod" "$here/$1/go.sum"; echo "$ldflags"; } | sha256sum | cut -d' ' -f1
}

# cert-manager ships its CRDs as Helm templates; without the lines that Helm would fill in they are plain YAML.
write_crds() {
  local folder crd
  folder=$(cd "$here/cert-manager" && go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds
  for crd in "$folder"/*.yaml; do
    echo '---'
    sed '/{{/d' "$crd"
  done >"$out/cert-manager/crds.yaml"
}

is_built() {
  [[ -f "$out/$1/.stamp" && "$(cat "$out/$1/.stamp")" == "$(checksum "$1")" ]] || return 1
  local binary
  for binary in ${makes[$1]}; do
    [[ -x "$out/$1/$binary" ]] || return 1
  done
  [[ "$1" != cert-manager || -s "$out/$1/crds.yaml" ]]
}

modules=("$@")
[[ ${#modules[@]} -gt 0 ]] || modules=(kubernetes cert-manager tools)
todo=()
for module in "${modules[@]}"; do
  [[ -n "${makes[$module]:-}" ]] || { echo "no such module: $module (there are: ${!makes[*]})" >&2; exit 2; }
  is_built "$module" || todo+=("$module")
done
[[ ${#todo[@]} -gt 0 ]] || exit 0

if ! command -v go >/dev/null; then
  echo "go is missing: it builds the Kubernetes control plane. Get Go 1.26 or newer: https://go.dev/dl" >&2
  exit 1
fi

mkdir -p "$out"
# Two builds at once (a test beside a demo) would only slow each other down.
exec 9>"$out/.lock"
flock 9
for module in "${todo[@]}"; do
  is_built "$module" && continue
  echo "building $module (${makes[$module]}): ${takes[$module]}, once"
  log="$out/$module.log"
  begin=$SECONDS
  # What is in Go's cache is not built again. If the list fails, the build fails too, and prints the reason.
  packages=$(cd "$here/$module" && { go list -deps tool 2>/dev/null || true; } | wc -l)
  (cd "$here/$module" && exec nice go build -v -trimpath -ldflags "$ldflags" -o "$out/$module/" tool) >"$log" 2>&1 &
  build=$!
  trap 'kill "$build" 2>/dev/null || true' EXIT
  reported=0
  while kill -0 "$build" 2>/dev/null; do
    sleep 1
    if (( SECONDS - begin >= reported + 15 )); then
      reported=$((SECONDS - begin))
      echo "  ... $module: $(wc -l <"$log") of at most $packages packages, $reported s so far"
    fi
  done
  trap - EXIT
  if ! wait "$build"; then
    echo "building $module failed; the end of $log:" >&2
    tail -n 20 "$log" >&2
    exit 1
  fi
  [[ "$module" != cert-manager ]] || write_crds
  checksum "$module" >"$out/$module/.stamp"
  echo "  $module built in $((SECONDS - begin)) s"
done
