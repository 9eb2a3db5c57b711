//! Instances on a card: the choice of what is drawn, compared with the CPU's.

use meshreel::policy::Projection;
use meshreel_gpu::instances::{DRAW_WORDS, InstanceView, Model, ModelChoice, ModelLod, Palette};
use meshreel_gpu::wgpu::Instances;
use meshreel_gpu_on_adapter::{device, read_buffer};

fn view(eye: [f32; 3]) -> InstanceView {
    // Looks along −z.
    let (near, far) = (0.1, 400.0);
    let mut clip = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, far / (near - far), -1.0],
        [0.0, 0.0, near * far / (near - far), 0.0],
    ];
    let moved: [f32; 4] = std::array::from_fn(|k| (0..3).map(|c| clip[c][k] * eye[c]).sum());
    clip[3].iter_mut().zip(moved).for_each(|(out, by)| *out -= by);
    InstanceView::new(&clip, eye, &Projection::new(std::f32::consts::FRAC_PI_2, 1000.0))
}

#[test]
fn f07_f08_what_is_drawn_of_a_cloud_is_what_the_cpu_says() {
    let Some((device, queue, _)) = device() else {
        println!("skipped: no graphics adapter");
        return;
    };
    let level = |first: u32, error: f32| ModelLod { indices: [first, 36], base_vertex: 7, error };
    let model = |centre, levels, sprite| Model::new(centre, 1.5, levels).with_sprite(sprite);
    let palette = Palette(vec![
        model([0.0; 3], vec![level(0, 0.0), level(36, 0.02), level(72, 0.3)], true),
        model([0.5, -1.0, 2.0], vec![level(108, 0.0), level(144, 0.1)], false),
        model([0.0; 3], vec![level(180, 0.0)], true),
    ]);
    // Some have a size of zero.
    let choice = ModelChoice::Random { seed: 3 };
    let float = |i: usize, k: u32| (i as u32).wrapping_mul(2_654_435_761).rotate_left(7 * k) as f32 / 4.3e9;
    let count = 70_000;
    let worlds: Vec<[[f32; 4]; 3]> = (0..count)
        .map(|i| {
            let scale = if i % 97 == 0 { 0.0 } else { 0.1 + float(i, 1) };
            let (sin, cos) = (6.3 * float(i, 2)).sin_cos();
            let at = [float(i, 3), float(i, 4), float(i, 5)].map(|v| 500.0 * v - 250.0);
            [
                [scale * cos, -scale * sin, 0.0, at[0]],
                [scale * sin, scale * cos, 0.0, at[1]],
                [0.0, 0.0, scale, at[2]],
            ]
        })
        .collect();
    let models: Vec<u32> = (0..count).map(|i| choice.model(i, 3)).collect();
    let mut instances = Instances::new(&device, &palette, count).unwrap();
    instances.set_instances(&queue, &worlds, &models).unwrap();
    assert!(instances.set_instances(&queue, &worlds, &models[1..]).is_err());
    let draws = palette.draws().count();
    for eye in [[0.0; 3], [10.0, -20.0, 240.0], [0.0, 0.0, -1000.0]] {
        let view = view(eye);
        let mut encoder = device.create_command_encoder(&Default::default());
        instances.update(&queue, &mut encoder, &view);
        queue.submit([encoder.finish()]);
        let mut wanted = vec![Vec::new(); draws];
        for (i, (world, model)) in (0..).zip(worlds.iter().zip(&models)) {
            if let Some(draw) = palette.choose(&view, world, *model) {
                wanted[draw as usize].push(i);
            }
        }
        let words = |buffer: &wgpu::Buffer, count: usize| -> Vec<u32> {
            bytemuck::cast_slice(&read_buffer(&device, &queue, buffer.slice(..), 4 * count as u64)).to_vec()
        };
        let arguments = words(instances.arguments(0).0, DRAW_WORDS * draws);
        let listed = words(instances.visible_instances(), count);
        let mut at = 0;
        let mut differ = 0;
        for (draw, wanted) in wanted.iter().enumerate() {
            let own = arguments[DRAW_WORDS * draw + 1] as usize;
            let mut found: Vec<u32> = listed[at..at + own].to_vec();
            found.sort_unstable();
            differ += found.iter().filter(|i| wanted.binary_search(i).is_err()).count();
            differ += wanted.iter().filter(|i| found.binary_search(i).is_err()).count();
            at += own;
        }
        println!("{at} of {count} are drawn in {draws} draws; {differ} otherwise than on the CPU");
        assert!(at > 0 || eye[2] < -400.0);
        // At a border a last bit may decide.
        assert!(differ <= 4);
    }
}
