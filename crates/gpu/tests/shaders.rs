//! The shader is valid WGSL, with the entry points, constants and layouts that the plan says, without an adapter.

use meshreel_gpu::shaders::{Normals, Positions, Tangents, Variant, Weights};
use meshreel_gpu::{Pass, VertexLayout, params, shaders};

fn module() -> naga::Module {
    let text = shaders::wgsl();
    naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)))
}

#[test]
fn e20_the_shader_is_valid_within_default_limits() {
    let module = module();
    // What WebGPU has at its core: `pack2x16float` is part of that.
    let flags = naga::valid::ValidationFlags::all();
    naga::valid::Validator::new(flags, naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32)
        .validate(&module)
        .unwrap();
    for pass in Pass::ALL {
        let entry = module.entry_points.iter().find(|e| e.name == pass.entry()).unwrap();
        assert_eq!(entry.stage, naga::ShaderStage::Compute);
    }
    assert_eq!(module.entry_points.len(), Pass::ALL.len());
    let storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
    assert!(module.global_variables.iter().filter(|(_, v)| storage(v.space)).count() <= 8);
}

#[test]
fn e20_parameters_lie_as_they_do_in_rust() {
    let module = module();
    let (_, found) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some("Params")).unwrap();
    let naga::TypeInner::Struct { span, members } = &found.inner else { panic!("a structure") };
    assert_eq!(*span as usize, params::SIZE);
    assert!(members.iter().enumerate().all(|(i, m)| m.offset as usize == 4 * i));
    assert!(params::STRIDE.is_multiple_of(256));
}

#[test]
fn e21_every_constant_of_a_pipeline_is_one_of_the_shader() {
    let module = module();
    let names: Vec<&str> = module.overrides.iter().filter_map(|(_, o)| o.name.as_deref()).collect();
    let weights = Weights::ALL.map(Normals::Summed);
    let all =
        [Normals::None, Normals::Octahedral, Normals::Frames, Normals::Turned].into_iter().chain(weights);
    for normals in all {
        let variant = Variant {
            normals,
            positions: Positions::Wide,
            tangents: Tangents::Projected,
            ..Variant::default()
        };
        let constants = shaders::constants(&variant, &VertexLayout::default(), 64);
        assert!(constants.iter().all(|(name, _)| names.contains(name)), "{constants:?}");
        assert_eq!(constants.len(), names.len());
    }
}
