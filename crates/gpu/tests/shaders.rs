//! Checks without an adapter that the shader is valid WGSL with the entry points, constants and layouts of
//! the plan.

use meshreel_gpu::instances::{self, InstancePass};
use meshreel_gpu::shaders::{NormalSource, NormalWeights, PositionSource, ShaderVariant, TangentSource};
use meshreel_gpu::units::{self, UnitPass};
use meshreel_gpu::{Pass, VertexLayout, params, shaders};

fn parsed(text: &str) -> naga::Module {
    naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)))
}

fn module() -> naga::Module {
    parsed(&shaders::wgsl())
}

/// Checks that a module is valid with WebGPU's core features (`pack2x16float` is one), and within its number
/// of buffers.
fn check(module: &naga::Module) {
    let flags = naga::valid::ValidationFlags::all();
    let capabilities = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    naga::valid::Validator::new(flags, capabilities).validate(module).unwrap();
    let storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
    assert!(module.global_variables.iter().filter(|(_, v)| storage(v.space)).count() <= 8);
}

#[test]
fn e20_the_shader_is_valid_within_default_limits() {
    let module = module();
    check(&module);
    for pass in Pass::ALL {
        let entry = module.entry_points.iter().find(|e| e.name == pass.entry()).unwrap();
        assert_eq!(entry.stage, naga::ShaderStage::Compute);
    }
    assert_eq!(module.entry_points.len(), Pass::ALL.len());
}

#[test]
fn e20_vertices_can_be_fetched_in_a_vertex_shader() {
    let draw = "@vertex fn draw(@builtin(vertex_index) v: u32, @builtin(instance_index) i: u32) -> @builtin(position) vec4f
        { return vec4f(instance_point(instance_of(i), vertex_of(v).position) + vec3f(sprite_corner(v), 0.0), 1.0); }";
    check(&parsed(&(shaders::pull_wgsl(0) + &instances::pull_wgsl(1) + draw)));
}

#[test]
fn f07_the_passes_of_instances_are_valid_within_default_limits() {
    let module = parsed(instances::wgsl());
    check(&module);
    for pass in InstancePass::ALL {
        assert!(module.entry_points.iter().any(|e| e.name == pass.entry()));
    }
    let (_, view) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some("View")).unwrap();
    let naga::TypeInner::Struct { span, .. } = &view.inner else { panic!("a structure") };
    assert_eq!(*span as usize, size_of::<instances::InstanceView>());
}

#[test]
fn e20_the_passes_over_units_are_valid_within_default_limits() {
    let module = parsed(&units::wgsl());
    check(&module);
    for pass in UnitPass::ALL {
        assert!(module.entry_points.iter().any(|e| e.name == pass.entry()));
    }
    assert_eq!(module.entry_points.len(), UnitPass::ALL.len());
}

#[test]
fn e20_parameters_lie_as_they_do_in_rust() {
    for (module, name, size) in [
        (module(), "Params", params::PARAMS_BYTES),
        (parsed(&units::wgsl()), "UnitParams", size_of::<units::UnitParams>()),
    ] {
        let (_, found) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
        let naga::TypeInner::Struct { span, members } = &found.inner else { panic!("a structure") };
        assert_eq!((*span as usize, size % 16), (size, 0));
        assert!(members.iter().enumerate().all(|(i, m)| m.offset as usize == 4 * i));
    }
}

#[test]
fn e21_every_constant_of_a_pipeline_is_one_of_the_shader() {
    let module = module();
    let names: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
    let weights = NormalWeights::ALL.map(NormalSource::Summed);
    let all = [NormalSource::None, NormalSource::Octahedral, NormalSource::Frames, NormalSource::Turned]
        .into_iter()
        .chain(weights);
    for normals in all {
        let mut variant = ShaderVariant::default();
        variant.normals = normals;
        variant.positions = PositionSource::Wide;
        variant.tangents = TangentSource::Projected;
        let constants = shaders::constants(&variant, &VertexLayout::default(), 64);
        assert!(constants.iter().all(|(name, _)| names.contains(name)), "{constants:?}");
        assert_eq!(constants.len(), names.len());
    }
}
