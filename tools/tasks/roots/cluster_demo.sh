# Runs `tools/dev cluster demo` on a copy of the tree in a minimal installation (a chroot).
cd /trellis/tree || exit 1
NO_COLOR=1 tools/dev cluster demo || exit 1
. /etc/os-release
echo "== $PRETTY_NAME, $(dpkg-query -W -f '${Package} ${Version}' ceph-osd)"
sed 's/^/== /' build/cluster_demo/result.txt
