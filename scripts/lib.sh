# Sourced by the other scripts: an engine that answers, a demo image, a Rust toolchain, etcd.
#
# Everything here may be called again at any time, says what it changes, and ends with one clear line
# when it cannot go on. Knobs, all optional:
#   DOCKER_HOST            an engine to use instead of unix:///var/run/docker.sock; never started by us
#   PODKEEPER_ENGINE_DIR   keep an engine of our own below this directory (socket, data, pid file, log)

set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
demo_image=podkeeper/demo:1

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs a command as root: directly, or by sudo, which may ask only when a person sits there.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        die "this needs root and there is no sudo: run '$*' as root, then run $0 again"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@" || die "this needs root and sudo failed without a terminal: run '$*' as root, then run $0 again"
    fi
}

lists_are_fresh=
refresh_lists() {
    command -v apt-get >/dev/null || die "this machine has no apt-get: install $* yourself, then run $0 again"
    [ -z "$lists_are_fresh" ] || return 0
    say "reading the distribution's package lists"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update </dev/null >&2 ||
        die "apt-get update failed: see the lines above"
    lists_are_fresh=1
}

install_packages() {
    refresh_lists "$@"
    say "installing $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" \
        </dev/null >&2 || die "apt-get could not install $*: see the lines above"
}

ensure_rust() {
    command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
    command -v cargo >/dev/null || die "there is no cargo: install Rust 1.88 or newer (https://rustup.rs), then run $0 again"
    # Rust links with the C compiler's driver, which a bare machine does not have.
    command -v cc >/dev/null || install_packages gcc libc6-dev
    ensure_protoc
}

# The etcd source is made from etcd's .proto files, and those include protobuf's own, a package of its own.
ensure_protoc() {
    [ -z "${PROTOC:-}" ] || return 0
    if command -v protoc >/dev/null && [ -e "$(dirname "$(command -v protoc)")/../include/google/protobuf/descriptor.proto" ]; then
        return
    fi
    install_packages protobuf-compiler libprotobuf-dev
}

# The tests of the etcd source start servers of their own; the package's service is not used.
ensure_etcd() {
    command -v etcd >/dev/null || install_packages etcd-server
}

# --- the engine ---------------------------------------------------------------------------------------

if [ -n "${PODKEEPER_ENGINE_DIR:-}" ]; then
    engine_socket=$PODKEEPER_ENGINE_DIR/docker.sock
    export DOCKER_HOST="unix://$engine_socket"
    engine_is_foreign=
else
    engine_socket=/var/run/docker.sock
    engine_is_foreign=${DOCKER_HOST:-}
    export DOCKER_HOST="${DOCKER_HOST:-unix://$engine_socket}"
fi

engine_answers() { timeout 10 docker version --format '{{.Server.Version}}' 2>/dev/null; }

ensure_engine() {
    if [ -z "$engine_is_foreign" ]; then
        install_engine
    fi
    command -v docker >/dev/null || die "there is no docker command: install docker.io (or docker-cli), then run $0 again"
    if ! version=$(engine_answers); then
        [ -z "$engine_is_foreign" ] || die "no engine answers at $DOCKER_HOST: start it, or unset DOCKER_HOST"
        if [ -S "$engine_socket" ] && [ ! -w "$engine_socket" ]; then
            join_docker_group
        fi
        start_engine
        version=$(engine_answers) || die "no engine answers at $DOCKER_HOST: see ${engine_log:-journalctl -u docker}"
    fi
    say "Docker Engine $version answers at $DOCKER_HOST"
}

install_engine() {
    PATH=$PATH:/usr/sbin:/sbin
    command -v dockerd >/dev/null || install_packages docker.io iptables ca-certificates
    # Newer distributions ship the command in a package of its own.
    command -v docker >/dev/null || install_packages docker-cli
}

# An ordinary user may not use the socket. Runs this script again with the group "docker" added for this one run.
join_docker_group() {
    [ -z "${PODKEEPER_JOINED:-}" ] || die "user $(id -un) may not use $engine_socket although it has group docker: check the socket's owner"
    group=$(getent group docker | cut -d: -f3)
    [ -n "$group" ] || die "user $(id -un) may not use $engine_socket and there is no group docker: run $0 as root"
    say "user $(id -un) may not use $engine_socket: running again with group docker, for this run only"
    sudo_flag=$([ -t 0 ] || echo -n)
    command -v sudo >/dev/null || die "there is no sudo: run 'usermod -aG docker $(id -un)' as root, log in again, then run $0 again"
    # shellcheck disable=SC2086 # the flag is either empty or one word
    exec sudo $sudo_flag setpriv --reuid "$(id -u)" --regid "$(id -g)" --groups "$(id -G | tr ' ' ,),$group" \
        env HOME="$HOME" PATH="$PATH" DOCKER_HOST="$DOCKER_HOST" PODKEEPER_JOINED=1 "$0" "$@"
}

start_engine() {
    if [ -z "${PODKEEPER_ENGINE_DIR:-}" ] && [ -d /run/systemd/system ]; then
        say "starting the docker service"
        as_root systemctl start docker || die "the docker service does not start: see journalctl -u docker"
    else
        start_engine_by_hand
    fi
    if [ -S "$engine_socket" ] && [ ! -w "$engine_socket" ]; then
        join_docker_group
    fi
}

# Without systemd: dockerd in a session of its own. What an earlier dockerd left behind must not stop it.
start_engine_by_hand() {
    if [ -n "${PODKEEPER_ENGINE_DIR:-}" ]; then
        run_dir=$PODKEEPER_ENGINE_DIR/run
        pid_file=$PODKEEPER_ENGINE_DIR/docker.pid
        engine_log=$PODKEEPER_ENGINE_DIR/dockerd.log
        ensure_own_bridge
        set -- --data-root "$PODKEEPER_ENGINE_DIR/data" --exec-root "$run_dir" --pidfile "$pid_file" \
            --host "$DOCKER_HOST" --bridge "$own_bridge" --fixed-cidr 172.31.255.0/24
        as_root mkdir -p "$PODKEEPER_ENGINE_DIR"
    else
        run_dir=/var/run/docker
        pid_file=/var/run/docker.pid
        engine_log=/var/log/dockerd.log
        set --
    fi
    ensure_cgroups
    drop_stale_pid "$pid_file" dockerd
    drop_stale_pid "$run_dir/containerd/containerd.pid" containerd
    engine_path=$PATH
    ensure_iptables
    say "starting dockerd by hand, log in $engine_log"
    # Its own session and no stream of ours: it outlives this script, and nobody waits for it to close a pipe.
    (
        exec </dev/null >/dev/null 2>&1
        as_root env PATH="$engine_path" LOG="$engine_log" setsid sh -c \
            'exec nohup dockerd "$@" >>"$LOG" 2>&1' dockerd "$@" "$iptables_flag"
    ) &
    tries=0
    until engine_answers >/dev/null; do
        if [ -S "$engine_socket" ] && [ ! -w "$engine_socket" ]; then
            return
        fi
        tries=$((tries + 1))
        [ "$tries" -le 120 ] ||
            die "dockerd does not answer after a minute: $(as_root tail -n 1 "$engine_log" 2>/dev/null); more in $engine_log"
        kill -0 $! 2>/dev/null ||
            die "dockerd ended: $(as_root tail -n 1 "$engine_log" 2>/dev/null); more in $engine_log"
        sleep 0.5
    done
}

# A pid file of a process that is gone, or whose number is another program's now, makes dockerd refuse to start.
drop_stale_pid() {
    pid=$(as_root cat "$1" 2>/dev/null || true)
    [ -n "$pid" ] || return 0
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || {
        say "removing $1, which a $2 that is gone left behind"
        as_root rm -f "$1"
    }
}

# dockerd needs the cgroup file systems; where no init has mounted them, nobody else will.
ensure_cgroups() {
    [ -e /sys/fs/cgroup/cgroup.controllers ] && return
    [ -d /sys/fs/cgroup/devices ] && return
    say "mounting the cgroup file system"
    as_root mount -t cgroup2 cgroup2 /sys/fs/cgroup ||
        die "no cgroups: mount /sys/fs/cgroup yourself (package cgroupfs-mount), then run $0 again"
}

# A kernel without nf_tables needs the older iptables; one without either still runs pods, without published ports
# on other addresses than the machine's own.
ensure_iptables() {
    iptables_flag=--iptables=true
    if as_root iptables -w -t nat -L -n >/dev/null 2>&1; then
        return
    fi
    if command -v iptables-legacy >/dev/null && as_root iptables-legacy -w -t nat -L -n >/dev/null 2>&1; then
        say "this kernel has no nf_tables: dockerd gets iptables-legacy"
        legacy=$(as_root mktemp -d /tmp/podkeeper-iptables.XXXXXX)
        as_root chmod 755 "$legacy"
        as_root ln -s "$(command -v iptables-legacy)" "$legacy/iptables"
        as_root ln -s "$(command -v ip6tables-legacy)" "$legacy/ip6tables"
        engine_path=$legacy:$PATH
        return
    fi
    say "this kernel has no iptables: dockerd runs without it"
    iptables_flag=--iptables=false
}

# Two engines may not share docker0.
ensure_own_bridge() {
    own_bridge=pk$(printf %s "$PODKEEPER_ENGINE_DIR" | cksum | cut -d' ' -f1)
    own_bridge=$(printf %.15s "$own_bridge")
    [ -d "/sys/class/net/$own_bridge" ] && return
    command -v ip >/dev/null || install_packages iproute2
    as_root ip link add "$own_bridge" type bridge
    as_root ip addr add 172.31.255.1/24 dev "$own_bridge"
    as_root ip link set "$own_bridge" up
}

# --- the image ----------------------------------------------------------------------------------------

# A static busybox: what the demo image is made of, and the images of the tests.
ensure_busybox() {
    kept=$project/target/busybox
    for busybox in "${PODKEEPER_BUSYBOX:-/bin/busybox}" "$kept/bin/busybox" "$kept/usr/bin/busybox"; do
        if [ -x "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1; then
            export PODKEEPER_BUSYBOX="$busybox"
            return
        fi
    done
    # Unpacked, not installed: the package would push out another busybox.
    refresh_lists busybox-static
    say "fetching busybox-static into $kept"
    mkdir -p "$kept"
    (cd "$kept" && apt-get -qq -o APT::Sandbox::User=root download busybox-static >&2 &&
        dpkg-deb -x busybox-static_*.deb . && rm busybox-static_*.deb) ||
        die "busybox-static cannot be downloaded: see the lines above"
    busybox=$(find "$kept" -path '*/bin/busybox' | head -n 1)
    export PODKEEPER_BUSYBOX="$busybox"
}

# Any kubectl will do; where there is none, the distribution's.
ensure_kubectl() {
    command -v kubectl >/dev/null || install_packages kubernetes-client
}

# Makes podkeeper/demo:1 and :2 from a static busybox. No registry is asked.
ensure_demo_image() {
    docker image inspect podkeeper/demo:1 podkeeper/demo:2 >/dev/null 2>&1 && return
    ensure_busybox
    work=$(mktemp -d)
    for version in 1 2; do
        say "making the image podkeeper/demo:$version from busybox"
        root=$work/root$version
        mkdir -p "$root/bin" "$root/etc" "$root/tmp" "$root/www"
        cp "$busybox" "$root/bin/busybox"
        for applet in $("$busybox" --list); do
            [ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
        done
        echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
        echo "Hello from podkeeper/demo:$version" >"$root/www/index.html"
        tar -C "$root" --owner 0 --group 0 -c . |
            docker import --change 'CMD ["/bin/sh"]' - "podkeeper/demo:$version" >/dev/null ||
            die "the engine does not take the image podkeeper/demo:$version"
    done
    rm -rf "$work"
}
