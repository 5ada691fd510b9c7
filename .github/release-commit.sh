#!/usr/bin/env bash
# Makes the commit that people use from the one that is checked out and was tagged: its action.yml names the published image
# by digest. Sets the tag and the moving tag of the major version to it, and pushes both.
#
#     .github/release-commit.sh v1.2.3 ghcr.io/owner/name@sha256:…
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
tag=$1 image=$2
[[ $tag =~ ^v(0|[1-9][0-9]*)\.[0-9]+\.[0-9]+$ ]] || { echo "no version: $tag" >&2; exit 2; }
[[ $image =~ ^[a-z0-9.-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$ ]] || { echo "no image with a digest: $image" >&2; exit 2; }
major=${tag%%.*}

[ "$(grep --count '^  image: Dockerfile$' action.yml)" = 1 ] || { echo "action.yml does not build the Dockerfile" >&2; exit 2; }
sed --in-place "s|^  image: Dockerfile\$|  image: docker://$image|" action.yml
name='github-actions[bot]' email='41898282+github-actions[bot]@users.noreply.github.com'
git -c "user.name=$name" -c "user.email=$email" commit --quiet --message "Release $tag

The action pulls its image, built from $(git rev-parse HEAD)." -- action.yml

# A correction of an older version does not take the major tag back.
newest=$(git tag --list "$major.*.*" | grep --extended-regexp '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort --version-sort | tail --lines 1)
tags=("$tag")
if [ "$newest" = "$tag" ]; then tags+=("$major"); fi
for moved in "${tags[@]}"; do git tag --force "$moved" HEAD; done
git push --atomic --force origin "${tags[@]/#/refs/tags/}"
