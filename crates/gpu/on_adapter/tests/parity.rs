//! Compares the results of a card with those of the twin on the CPU, which other tests compare with the
//! runtime.

use meshreel::{
    Command, FrameDecoder, FrameView, Limits, Options, Pace, Player, Repeat, VertexChannel, VertexFormat,
};
use meshreel_gpu::twin::BoundMesh;
use meshreel_gpu::wgpu::{Budget, DecoderPair, FrameSource, GpuReel, Shaders};
use meshreel_gpu::{MeshBlend, ReelPlan, SlotScratch, VertexLayout};
use meshreel_gpu_on_adapter::{device, files, golden_folder, open, read_buffer};
use std::sync::Arc;

fn degrees(a: &[f32], b: &[f32]) -> f64 {
    let [a, b] = [a, b].map(|v| [f64::from(v[0]), f64::from(v[1]), f64::from(v[2])]);
    let dot: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    cross.iter().map(|v| v * v).sum::<f64>().sqrt().atan2(dot).to_degrees()
}

fn max_difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn e20_a_card_gives_what_its_twin_gives() {
    let Some((device, queue, name)) = device() else {
        println!(
            "skipped: no graphics adapter; install a driver, or mesa-vulkan-drivers, which needs no card"
        );
        return;
    };
    println!("on {name}");
    let mut shaders = Shaders::new(&device);
    let layout = VertexLayout::plain();
    for path in files() {
        let reel = open(&path);
        let frames = reel.frame_count();
        if frames == 0 || reel.description().meshes.is_empty() {
            continue;
        }
        let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
        first.decode(0).unwrap();
        second.decode(0).unwrap();
        let plan = ReelPlan::new(&reel, |m| first.mesh(m)).unwrap();
        let view = FrameView::between(&first, &second, 0.0, Pace::default()).unwrap();
        let start = DecoderPair { first: &first, second: &second, view };
        let budget = Budget::default().with_previous(true);
        let mut gpu = GpuReel::new((&device, &queue), &mut shaders, &start, layout.clone(), budget).unwrap();
        let mut output = gpu.output(&device, &shaders);
        let mut before: Vec<Option<Vec<u8>>> = vec![None; plan.meshes.len()];
        // Ulps of the extent, degrees, and the error of the rest.
        let (mut positions, mut angles, mut others) = (0.0f32, 0.0f64, 0.0f32);
        for (frame, blend) in [(0, 0.0), (0, 0.5), (frames / 2, 0.3), (frames - 1, 0.0)] {
            first.decode(frame).unwrap();
            second.decode((frame + 1).min(frames - 1)).unwrap();
            let view = FrameView::between(&first, &second, blend, Pace::new(0.5, 1.0)).unwrap();
            let shown = DecoderPair { first: &first, second: &second, view };
            let mut encoder = device.create_command_encoder(&Default::default());
            let done = gpu.update(&shaders, &queue, &mut encoder, &mut [(&mut output, &shown)]).unwrap();
            queue.submit([encoder.finish()]);
            assert!(done.frames <= 2);
            let mut room = SlotScratch::default();
            let mut ring = vec![0; 2 * plan.slot_words + plan.static_words];
            let (a, b) = ring.split_at_mut(plan.slot_words);
            let (b, still) = b.split_at_mut(plan.slot_words);
            plan.write_frame(|m| first.mesh(m), &mut room, a).unwrap();
            plan.write_frame(|m| second.mesh(m), &mut room, b).unwrap();
            plan.write_static(|m| first.mesh(m), &mut room, still).unwrap();
            let mut seen = vec![false; plan.meshes.len()];
            for node in 0..reel.description().nodes.len() {
                let Some(mesh) = view.mesh(node).filter(|_| view.visible(node)) else { continue };
                let (number, count) = (mesh.number(), mesh.vertex_count());
                assert_eq!(output.vertex_count(number) as usize, count);
                assert!(output.is_shown(number));
                if output.between(number).is_some_and(|shown| shown != (mesh.frames(), mesh.blend())) {
                    // The node is about to vanish, and another node of the mesh is not.
                    assert!(!mesh.blends());
                    continue;
                }
                if count == 0 {
                    continue;
                }
                let own = &plan.meshes[number];
                let slot = |f: u32| if f as usize == frame { 0 } else { plan.slot_words };
                let params = own.params(&MeshBlend::new(own, &mesh, slot, 2 * plan.slot_words, 0));
                let bound = BoundMesh {
                    params: &params,
                    variant: own.variant(),
                    ring: &ring,
                    fixed: &own.fixed.words,
                    decoded: &[],
                };
                let (mut scratch, mut out) = (vec![0.0; own.scratch], vec![0; count * layout.words()]);
                bound.normals(&mut scratch);
                bound.tangents(&mut scratch);
                bound.vertices(&layout, &scratch, &mut out);
                let got =
                    read_buffer(&device, &queue, output.vertices(number), (count * layout.stride) as u64);
                // The vertices of the update before are still there.
                let last = output.previous_vertices(number);
                let first_time = !std::mem::replace(&mut seen[number], true);
                let before = before[number].replace(got.clone()).filter(|b| b.len() == got.len());
                if let Some(before) = before.filter(|_| first_time) {
                    assert!(read_buffer(&device, &queue, last, got.len() as u64) == before);
                }
                let got: &[f32] = bytemuck::cast_slice(&got);
                let want: &[f32] = bytemuck::cast_slice(&out);
                let extent =
                    want.chunks_exact(16).flat_map(|v| &v[..3]).fold(1e-20f32, |m, v| m.max(v.abs()));
                for (got, want) in got.chunks_exact(16).zip(want.chunks_exact(16)) {
                    positions = positions.max(max_difference(&got[..3], &want[..3]) / extent / f32::EPSILON);
                    angles = angles.max(degrees(&got[3..6], &want[3..6]));
                    angles = angles.max(degrees(&got[6..9], &want[6..9]));
                    assert_eq!(got[9], want[9], "the sign of a bitangent");
                    others = others.max(max_difference(&got[10..12], &want[10..12]));
                    others = others.max(max_difference(&got[12..15], &want[12..15]) / extent);
                    let [a, b] = [got[15], want[15]].map(|v| v.to_bits().to_le_bytes());
                    assert!(a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 1), "colours {a:?} {b:?}");
                }
                let all = |range: std::ops::Range<u32>| {
                    let bytes = read_buffer(
                        &device,
                        &queue,
                        output.indices(number).slice(..),
                        4 * u64::from(range.end),
                    );
                    bytemuck::pod_collect_to_vec::<u8, u32>(&bytes).split_off(range.start as usize)
                };
                if mesh.is_fluid() {
                    assert_eq!(all(0..output.index_count(number)), mesh.indices());
                } else {
                    assert_eq!(gpu.lod_range(number, 0), Some(0..output.index_count(number)));
                    assert_eq!(all(0..output.index_count(number)), mesh.indices_by_visibility());
                    let last = mesh.lod_count() - 1;
                    let level = gpu.lod_range(number, last).unwrap();
                    assert!(last == 0 || all(level) == mesh.lod(last).indices);
                }
            }
            // The same moment again needs no work.
            let mut encoder = device.create_command_encoder(&Default::default());
            let again = gpu.update(&shaders, &queue, &mut encoder, &mut [(&mut output, &shown)]).unwrap();
            assert_eq!((again.frames, again.dispatches, again.bytes), (0, 0, 0));
        }
        println!(
            "{}: positions {positions:.2} ulp of the extent, directions {angles:.4} degrees, others {others:.1e}",
            path.file_name().unwrap().display()
        );
        assert!(positions <= 1.0 && angles <= 0.02 && others <= 1e-5, "{}", path.display());
    }
}

#[test]
fn e22_frames_ahead_go_up_before_they_are_shown() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let bytes = std::fs::read(golden_folder().join("flag_fast.reel")).unwrap();
    let mut player = Player::new(Options::default()).unwrap();
    let file = player.open_bytes(std::sync::Arc::new(bytes));
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    let mut shaders = Shaders::new(&device);
    let mut card = None;
    let (mut uploads, mut ahead, mut pictures) = (0, 0, 0);
    while pictures < 60 {
        player.tick(1.0 / 60.0);
        let Some(shown) = player.frame(instance) else {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        };
        pictures += 1;
        assert_eq!(shown.file(), file);
        let (gpu, output) = card.get_or_insert_with(|| {
            let layout = VertexLayout::default();
            let gpu =
                GpuReel::new((&device, &queue), &mut shaders, &shown, layout, Budget::default()).unwrap();
            let output = gpu.output(&device, &shaders);
            (gpu, output)
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        let done = gpu.update(&shaders, &queue, &mut encoder, &mut [(&mut *output, &shown)]).unwrap();
        uploads += if pictures > 2 { done.frames } else { 0 };
        // Room for one frame per picture is enough.
        let most = gpu.sizes().slot;
        let bytes = gpu.prepare(&queue, player.upcoming_frames(instance), most).unwrap();
        assert!(bytes <= most);
        ahead += u32::from(bytes > 0);
        queue.submit([encoder.finish()]);
    }
    println!("{ahead} frames went up ahead, {uploads} when they were shown");
    assert!(ahead > 10 && uploads <= ahead / 4);
}

#[test]
fn e21_a_lost_device_is_followed_by_another_and_workgroups_of_any_size_give_the_same() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let reel = open(&files()[0]);
    let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    first.decode(0).unwrap();
    second.decode(1.min(reel.frame_count() - 1)).unwrap();
    let view = FrameView::between(&first, &second, 0.5, Pace::default()).unwrap();
    let shown = DecoderPair { first: &first, second: &second, view };
    let made_by = |device: &wgpu::Device, queue: &wgpu::Queue, group: u32| {
        let mut shaders = Shaders::with_group(device, group).unwrap();
        let layout = VertexLayout::default();
        let mut gpu = GpuReel::new((device, queue), &mut shaders, &shown, layout, Budget::default()).unwrap();
        let mut output = gpu.output(device, &shaders);
        let mut encoder = device.create_command_encoder(&Default::default());
        gpu.update(&shaders, queue, &mut encoder, &mut [(&mut output, &shown)]).unwrap();
        queue.submit([encoder.finish()]);
        read_buffer(device, queue, output.vertices(0), 20 * u64::from(output.vertex_count(0)))
    };
    let made = |device: &wgpu::Device, queue: &wgpu::Queue| made_by(device, queue, 256);
    let before = made(&device, &queue);
    // Workgroups of another size give the same result.
    assert!([1, 32, 128].iter().all(|group| made_by(&device, &queue, *group) == before));
    assert!([0, 48, 1 << 20].iter().all(|group| Shaders::with_group(&device, *group).is_err()));
    device.destroy();
    let (device, queue, _) = meshreel_gpu_on_adapter::device().unwrap();
    assert_eq!(made(&device, &queue), before);
    // A ring that does not hold two frames is refused before anything is made.
    let budget = Budget::default().with_ring(8);
    let refused =
        GpuReel::new((&device, &queue), &mut Shaders::new(&device), &shown, VertexLayout::default(), budget);
    assert!(refused.err().is_some_and(|error| error.to_string().contains("ring")));
}

#[test]
fn two_hundred_moments_in_one_update() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let reel = open(&golden_folder().join("flag_fast.reel"));
    let decoded = |frame: usize| {
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        decoder.decode(frame).unwrap();
        decoder
    };
    let pairs: Vec<[FrameDecoder; 2]> = (0..20).map(|frame| [decoded(frame), decoded(frame + 1)]).collect();
    let mut shaders = Shaders::new(&device);
    let shown = |moment: usize, shift: f32| {
        let [first, second] = &pairs[moment / 10];
        let blend = (moment % 10) as f32 * 0.1 + shift;
        let view = FrameView::between(first, second, blend, Pace::default()).unwrap();
        DecoderPair { first, second, view }
    };
    let start = shown(0, 0.0);
    let layout = VertexLayout::default();
    let mut gpu = GpuReel::new((&device, &queue), &mut shaders, &start, layout, Budget::default()).unwrap();
    let mut outputs: Vec<_> = (0..200).map(|_| gpu.output(&device, &shaders)).collect();
    let mut least = f64::MAX;
    for round in 0..20 {
        let moments: Vec<_> = (0..200).map(|moment| shown(moment, 0.001 * round as f32)).collect();
        let mut all: Vec<_> =
            outputs.iter_mut().zip(&moments).map(|(o, m)| (o, m as &dyn FrameSource)).collect();
        let mut encoder = device.create_command_encoder(&Default::default());
        let since = std::time::Instant::now();
        let done = gpu.update(&shaders, &queue, &mut encoder, &mut all).unwrap();
        least = least.min(since.elapsed().as_secs_f64());
        assert_eq!((done.frames, done.dispatches), (if round == 0 { 21 } else { 0 }, 400));
        queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }
    println!("200 moments: {:.0} microseconds of the CPU", least * 1e6);
    // Each output shows its own moment.
    let [a, b] = [3, 197].map(|at| read_buffer(&device, &queue, outputs[at].vertices(0), 20 * 1271));
    assert_ne!(a, b);
}

#[test]
fn e20_a_card_decodes_units_of_preset_fast() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let mut decoded = 0;
    for path in files() {
        let bytes = std::fs::read(&path).unwrap();
        let limits = Limits::default().with_points(false);
        let mut player =
            Player::new(Options::default().with_threads(0).with_read_threads(0).with_limits(limits)).unwrap();
        let file = player.open_bytes(Arc::new(bytes));
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::Play);
        player.tick(0.0);
        if player.coded_units(file).is_none() {
            continue;
        }
        let reel = open(&path);
        let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
        let mut shaders = Shaders::new(&device);
        let mut card = None;
        let (mut moments, mut late, mut frames, mut uploaded) = (0, 0, 0, 0);
        for tick in 0..90 {
            // Forwards, backwards, and a jump now and then.
            player.tick(0.037);
            match tick % 30 {
                17 => player.command(instance, Command::GoToFrame(tick * 11 % reel.frame_count())),
                29 => player.command(instance, Command::Rate(if tick == 29 { -1.0 } else { 1.0 })),
                _ => {}
            }
            let Some(shown) = player.frame(instance) else { continue };
            let layout = VertexLayout::plain();
            let ([gpu, whole], [output, expected]) = card.get_or_insert_with(|| {
                let pair = shown.pair();
                first.decode(pair.first as usize).unwrap();
                second.decode(pair.second as usize).unwrap();
                let view = FrameView::between(&first, &second, 0.0, Pace::default()).unwrap();
                let all = DecoderPair { first: &first, second: &second, view };
                let mut made = |frames: &dyn FrameSource| {
                    let budget = Budget::default();
                    GpuReel::new((&device, &queue), &mut shaders, frames, layout.clone(), budget).unwrap()
                };
                let both = [made(&shown), made(&all)];
                let outputs = [0, 1].map(|k: usize| both[k].output(&device, &shaders));
                (both, outputs)
            });
            let pair = shown.pair();
            let mut encoder = device.create_command_encoder(&Default::default());
            let card = (&device, &queue);
            let most = 10_000;
            let done = gpu.decode(card, &shaders, &mut encoder, (&player, instance), most).unwrap();
            frames += done.frames;
            uploaded += done.bytes;
            let shows = gpu.update(&shaders, &queue, &mut encoder, &mut [(&mut *output, &shown)]).unwrap();
            late += shows.late;
            first.decode(pair.first as usize).unwrap();
            second.decode(pair.second as usize).unwrap();
            let view = FrameView::between(&first, &second, pair.blend, Pace::default()).unwrap();
            let all = DecoderPair { first: &first, second: &second, view };
            whole.update(&shaders, &queue, &mut encoder, &mut [(&mut *expected, &all)]).unwrap();
            queue.submit([encoder.finish()]);
            for mesh in 0..reel.description().meshes.len() {
                let size = u64::from(output.vertex_count(mesh)) * layout.stride as u64;
                if size == 0 || !output.is_shown(mesh) {
                    continue;
                }
                let [got, want] = [&*output, &*expected].map(|output| {
                    let bytes = read_buffer(&device, &queue, output.vertices(mesh), size);
                    bytemuck::pod_collect_to_vec::<u8, f32>(&bytes)
                });
                // Except for velocities, which a late moment does not have.
                let same = |(a, b): (&[f32], &[f32])| a[..12] == b[..12];
                assert!(got.chunks(16).zip(want.chunks(16)).all(same), "{}: tick {tick}", path.display());
                moments += 1;
            }
        }
        decoded += frames;
        println!(
            "{}: {moments} moments, {frames} frames decoded of {uploaded} bytes, {late} late",
            path.file_name().unwrap().display()
        );
        assert!(moments > 20 && late == 0);
    }
    assert!(decoded > 0, "no files of the preset fast");
}

#[test]
fn e20_positions_and_velocities_in_sixteen_bits() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let reel = open(&golden_folder().join("flag_fast.reel"));
    let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    first.decode(3).unwrap();
    second.decode(4).unwrap();
    let view = FrameView::between(&first, &second, 0.3, Pace::new(0.5, 1.0)).unwrap();
    let shown = DecoderPair { first: &first, second: &second, view };
    let made = |position, velocity| {
        let attributes = [(VertexChannel::Position, position), (VertexChannel::Velocity, velocity)];
        let layout = VertexLayout::new(&attributes);
        let stride = layout.stride;
        let mut shaders = Shaders::new(&device);
        let budget = Budget::default();
        let mut gpu = GpuReel::new((&device, &queue), &mut shaders, &shown, layout, budget).unwrap();
        let mut output = gpu.output(&device, &shaders);
        let mut encoder = device.create_command_encoder(&Default::default());
        gpu.update(&shaders, &queue, &mut encoder, &mut [(&mut output, &shown)]).unwrap();
        queue.submit([encoder.finish()]);
        let count = output.vertex_count(0) as usize;
        let bytes = read_buffer(&device, &queue, output.vertices(0), (count * stride) as u64);
        bytes.chunks_exact(stride).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let float = |bytes: &[u8], at: usize| f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
    let short = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
    let half = |bits: u16| {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
        let size = if exponent == 0 {
            fraction / 16_777_216.0
        } else {
            (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15)
        };
        if bits >> 15 == 1 { -size } else { size }
    };
    let plain = made(VertexFormat::F32x3, VertexFormat::F32x3);
    let halves = made(VertexFormat::F16x4, VertexFormat::F16x4);
    let bounded = made(VertexFormat::U16x4, VertexFormat::F16x4);
    let bounds = reel.description().meshes[0].bounds;
    assert!(plain.len() > 1000);
    for ((plain, halves), bounded) in plain.iter().zip(&halves).zip(&bounded) {
        for k in 0..3 {
            let (position, velocity) = (float(plain, k), float(plain, 3 + k));
            for (value, bits) in [
                (position, short(halves, k)),
                (velocity, short(halves, 4 + k)),
                (velocity, short(bounded, 4 + k)),
            ] {
                assert!((half(bits) - value).abs() <= value.abs() / 1024.0 + 1e-6, "{value} {}", half(bits));
            }
            let part = (position - bounds[k]) / (bounds[k + 3] - bounds[k]);
            assert!((f32::from(short(bounded, k)) - part * 65535.0).abs() <= 1.0);
        }
        assert_eq!([short(halves, 3), short(halves, 7), short(bounded, 3)], [0x3C00, 0, 0xFFFF]);
    }
}
