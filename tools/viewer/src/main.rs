//! `meshreel-view`: shows caches in a window or as pictures.

mod adapter;
mod app;
mod arguments;
mod bones;
mod camera;
mod cameras;
mod clips;
mod clock;
mod contact;
mod curves;
mod decoding;
mod document;
mod drawing;
mod errors;
mod floor;
mod follow;
mod layout;
mod loading;
mod looks;
mod matrix;
mod meshes;
mod particles;
mod picking;
mod picture;
mod pipelines;
mod renderer;
mod sizes;
mod source;
mod streaming;
mod style;
mod timing;
mod watch;
mod worker;

use adapter::{NO_ADAPTER, features};
use anyhow::{anyhow, bail};
use arguments::Arguments;
use clap::Parser;
use errors::{exit_code, one_line};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            eprintln!("error: {}; see --help", arguments::first_paragraph(&error));
            return ExitCode::from(2);
        }
        // Help and version.
        Err(error) => error.exit(),
    };
    let result = match &arguments.screenshot {
        Some(target) => picture::pictures(&arguments, target),
        None => window(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error));
            ExitCode::from(exit_code(&error))
        }
    }
}

fn window(arguments: Arguments) -> anyhow::Result<()> {
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
    if cfg!(target_os = "linux") && displays.iter().all(|name| std::env::var_os(name).is_none()) {
        bail!("no display to open a window on; --screenshot OUT.png draws without one");
    }
    let mut options = eframe::NativeOptions {
        viewport: eframe::egui::ViewportBuilder::default()
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size([640.0, 400.0])
            .with_drag_and_drop(true),
        ..Default::default()
    };
    if let eframe::egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_options.wgpu_setup {
        let usual = setup.device_descriptor.clone();
        setup.device_descriptor = std::sync::Arc::new(move |adapter| {
            let mut device = usual(adapter);
            device.required_features |= features(adapter);
            // Passes need WebGPU's default limits. An adapter with less is refused with a message later on.
            let promised = wgpu::Limits::default();
            if promised.check_limits(&adapter.limits()) {
                device.required_limits = promised;
            }
            device
        });
    }
    let made = move |context: &eframe::CreationContext<'_>| {
        Ok(Box::new(app::App::new(context, &arguments)?) as Box<dyn eframe::App>)
    };
    let result = eframe::run_native("meshreel", options, Box::new(made));
    result.map_err(|error| match error {
        // The library's message is a list of its attempts, over many lines.
        eframe::Error::Wgpu(_) => anyhow!(NO_ADAPTER),
        error => anyhow!("{error}"),
    })
}
