# Runs `tools/dev quick` on a copy of the tree in a minimal installation (a chroot).
cd /trellis/tree || exit 1
NO_COLOR=1 tools/dev quick || exit 1
. /etc/os-release
echo "== $PRETTY_NAME"
for package in g++ cmake libabsl-dev liblz4-dev libxxhash-dev liburing-dev libgtest-dev; do
  echo "== $(dpkg-query -W -f '${Package} ${Version}' "$package")"
done
times >/trellis/times  # not in a pipe, whose shell has no children yet
echo "== user and system time of all steps: $(tail -n 1 /trellis/times)"
