//! Workgroups of dispatches, within WebGPU's default limits.

/// Workgroups of a dispatch in one dimension: WebGPU's default limit.
pub const MOST_GROUPS: u32 = 65_535;
/// Invocations of a workgroup, unless others are asked for: WebGPU's default limit.
pub const GROUP: u32 = 256;

/// Workgroups of so many threads for some items, in two dimensions where one is not enough: threads beyond the last
/// item do nothing. None without items.
pub(crate) fn groups(items: u32, group: u32) -> Option<[u32; 2]> {
    let all = items.div_ceil(group);
    let x = all.min(MOST_GROUPS);
    (all > 0).then(|| [x, all.div_ceil(x)])
}
