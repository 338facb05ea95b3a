//! Paths of control groups in words: which service, container or pod a thread belongs to.
//!
//! Sources: `opencontainers/runc` `docs/systemd.md` (a container's scope is `PREFIX-ID.scope`, the prefix `docker`, `cri-containerd`, `crio`,
//! `libpod`); Kubernetes' `pkg/kubelet/cm` (`pod_container_manager_linux.go`: a pod's group is `pod` and its UID; `cgroup_manager_linux.go`:
//! `kubepods-burstable-podUID.slice` for systemd, with `_` for `-`); `lxc.container.conf(5)` (`lxc.payload.NAME`); `systemd.unit(5)` (escapes).

/// As many hexadecimal digits of a container's or pod's ID are shown as its tools show by default.
const CONTAINER_DIGITS: usize = 12;
const POD_DIGITS: usize = 8;

/// Hexadecimal digits of a container's ID.
const WHOLE_ID: usize = 64;

/// `nginx.service`, `container 3f2a9c1b7d44`, `container 3f2a9c1b7d44 of pod 0f3c2b1a`: the last part of the path that means something. Empty for the
/// root.
pub fn group_words(path: &str) -> String {
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let container = parts().rev().find_map(container);
    match (container, parts().rev().find_map(pod)) {
        (Some(container), Some(pod)) => format!("container {container} of pod {pod}"),
        (Some(container), None) => format!("container {container}"),
        (None, Some(pod)) => format!("pod {pod}"),
        (None, None) => parts().next_back().unwrap_or_default().replace("\\x2d", "-"),
    }
}

/// Of `docker-ID.scope`, `ID` or `lxc.payload.web`.
fn container(part: &str) -> Option<&str> {
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(name);
    }
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let id = name.rsplit(['-', ':']).next()?;
    (id.len() == WHOLE_ID && is_hexadecimal(id)).then(|| &id[..CONTAINER_DIGITS])
}

/// Of `kubepods-burstable-podUID.slice` or `podUID`.
fn pod(part: &str) -> Option<&str> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let (before, uid) = name.rsplit_once("pod")?;
    let first = uid.get(..POD_DIGITS)?;
    ((before.is_empty() || before.ends_with('-')) && is_hexadecimal(first)).then_some(first)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::group_words;

    #[test]
    fn groups_are_called_by_what_they_belong_to() {
        let id = "3f2a9c1b7d44".to_owned() + &"0".repeat(52);
        let docker = format!("/system.slice/docker-{id}.scope");
        let pod = "0f3c2b1a_1111_2222_3333_444455556666";
        let slices = format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}.slice");
        for (path, words) in [
            ("/", ""),
            ("/system.slice/nginx.service", "nginx.service"),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-my\\x2dshell.scope",
                "app-my-shell.scope",
            ),
            (&docker, "container 3f2a9c1b7d44"),
            (&format!("/docker/{id}"), "container 3f2a9c1b7d44"),
            (&format!("/machine.slice/libpod-{id}.scope/container"), "container 3f2a9c1b7d44"),
            (&format!("{slices}/cri-containerd-{id}.scope"), "container 3f2a9c1b7d44 of pod 0f3c2b1a"),
            (&slices, "pod 0f3c2b1a"),
            (
                &format!("/kubepods/besteffort/pod0f3c2b1a-1111-2222-3333-444455556666/{id}"),
                "container 3f2a9c1b7d44 of pod 0f3c2b1a",
            ),
            ("/lxc.payload.web/system.slice/cron.service", "container web"),
            // No UIDs.
            ("/system.slice/podman.service", "podman.service"),
            ("/system.slice/docker-3f2a.scope", "docker-3f2a.scope"),
        ] {
            assert_eq!(group_words(path), words, "{path}");
        }
    }
}
