//! Tests of batches: meshes of a file in few buffers and few dispatches.

use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_gpu::workgroups::MAX_WORKGROUPS;
use meshreel_gpu::{Batches, Pass, ReelPlan, VertexLayout, WorkList};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

fn plans() -> Vec<ReelPlan> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let reels = paths.filter(|path| path.extension().is_some_and(|e| e == "reel"));
    let plan = |path| {
        let reel = Reel::from_source(Arc::new(std::fs::read(path).unwrap()), &Limits::default()).ok()?;
        let mut frame = FrameDecoder::new(&reel).unwrap();
        (reel.frame_count() > 0).then(|| frame.decode(0).unwrap())?;
        let mut plan = ReelPlan::new(&reel, |mesh| frame.mesh(mesh)).unwrap();
        // Copies of all meshes, which have the same shaders.
        plan.meshes.extend_from_within(..);
        Some(plan)
    };
    reels.filter_map(plan).collect()
}

#[test]
fn e20_a_work_list_has_every_item_once() {
    let layout = VertexLayout::plain();
    let group = 64;
    let mut shared = 0;
    for plan in plans() {
        for (most, every) in [(u64::MAX, 1), (u64::MAX, 2), (100_000, 1), (0, 1)] {
            let batches = Batches::new(&plan, &layout, 2, most);
            let mut meshes: Vec<usize> = batches.batches.iter().flat_map(|b| b.meshes.clone()).collect();
            meshes.sort_unstable();
            assert!(meshes.into_iter().eq(0..plan.meshes.len()));
            for batch in &batches.batches {
                let words = [batch.fixed, batch.scratch, 2 * batch.vertices];
                assert!(batch.meshes.len() == 1 || words.iter().all(|words| 4 * *words as u64 <= most));
            }
            // All meshes, or every other one, show something new.
            let params = |mesh: usize| mesh.is_multiple_of(every).then(|| &plan.meshes[mesh].fixed.params);
            let mut list = WorkList::default();
            batches.write_work_list(&plan, &layout, group, params, &mut list);
            let mut items = HashSet::new();
            for dispatch in &list.dispatches {
                assert!(dispatch.first.is_multiple_of(32));
                assert!(dispatch.groups.iter().all(|groups| *groups <= MAX_WORKGROUPS));
                let mut served = HashSet::new();
                let own = (dispatch.groups[0] * dispatch.groups[1]) as usize;
                for &[mesh, first] in &list.work[dispatch.first..][..own] {
                    let mesh = mesh as usize;
                    assert_eq!(batches.placements[mesh].batch, dispatch.batch);
                    assert_eq!(plan.meshes[mesh].variant(), plan.meshes[dispatch.mesh].variant());
                    let all =
                        plan.meshes[mesh].items(dispatch.pass, &plan.meshes[mesh].fixed.params, &layout);
                    for item in first..first.saturating_add(group).min(all) {
                        assert!(items.insert((dispatch.pass, mesh, item)), "twice");
                        served.insert(mesh);
                    }
                }
                shared = shared.max(served.len());
            }
            let mut wanted = 0;
            for (mesh, own) in plan.meshes.iter().enumerate().step_by(every) {
                let params = params(mesh).unwrap();
                let items = Pass::ALL.iter().map(|&pass| own.items(pass, params, &layout) as usize);
                wanted += items.sum::<usize>();
            }
            assert_eq!(items.len(), wanted);
        }
    }
    assert!(shared > 1);
}
