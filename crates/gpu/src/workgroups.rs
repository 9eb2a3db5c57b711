//! The workgroups of dispatches, within WebGPU's default limits.

/// The most workgroups of a dispatch in one dimension: WebGPU's default limit.
pub const MAX_WORKGROUPS: u32 = 65_535;
/// The default number of invocations of a workgroup: WebGPU's default limit.
pub const DEFAULT_WORKGROUP_SIZE: u32 = 256;

/// Returns the workgroups of `group` threads for some items; threads beyond the last item do nothing. `None`
/// without items.
pub(crate) fn workgroups_for(items: u32, group: u32) -> Option<[u32; 2]> {
    split_workgroups(items.div_ceil(group))
}

/// Returns at least `all` workgroups, in two dimensions if one is not enough. `None` for 0.
pub(crate) fn split_workgroups(all: u32) -> Option<[u32; 2]> {
    let rows = all.div_ceil(MAX_WORKGROUPS);
    (all > 0).then(|| [all.div_ceil(rows), rows])
}
