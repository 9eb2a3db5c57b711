//! The panel of sizes, with advice for a smaller file.

use super::state::App;
use super::stretches::stretches;
use crate::document::Document;
use crate::sizes::SizeMeasurement;
use eframe::egui;
use meshreel::raw::format::kind;
use meshreel::raw::record::MeshRecord;
use meshreel_compile::advice;
use meshreel_compile::report::readable::bytes;

impl App {
    /// Draws the sizes: a bar for each frame, and meshes by size.
    pub(super) fn byte_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        contents(ui, document);
        if document.meshes.is_some() {
            let (reel, ctx) = (&document.reel, ui.ctx());
            let start = || {
                let ctx = ctx.clone();
                SizeMeasurement::start(reel, move || ctx.request_repaint())
            };
            document.sizes.get_or_insert_with(start).poll();
            frames(ui, document);
            meshes(ui, document);
        }
        clips(ui, document);
        ui.heading("What would make it smaller");
        for advice in advice_lines(document) {
            ui.label(advice);
        }
    }
}

/// Returns a description of the chunks of a kind.
fn chunk_description(kind: u16) -> &'static str {
    match kind {
        kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT => "frames",
        kind::VERTEX_ATTRIBUTES => "animated attributes, apart from frames",
        kind::CONNECTIVITY => "triangles",
        kind::VALUES => "what stands still",
        kind::SOURCE_MAP => "source map, which players do not read",
        kind::SKELETON | kind::CLIP | kind::LAYERS | kind::TIERS | kind::SCALARS => "skeletons and clips",
        kind::END_STATES => "end states",
        kind::LOD => "levels of detail",
        kind::VISIBILITY => "triangle visibility",
        kind::PART_ATTRIBUTES => "attributes of parts",
        kind::RIGS => "rigs",
        _ => "names and tables",
    }
}

/// Lists the chunk kinds of a file, the largest first.
fn contents(ui: &mut egui::Ui, document: &Document) {
    let mut sizes: Vec<(&str, u64)> = Vec::new();
    for chunk in document.reel.chunks() {
        let (what, size) = (chunk_description(chunk.kind), u64::from(chunk.size));
        match sizes.iter_mut().find(|known| known.0 == what) {
            Some(known) => known.1 += size,
            None => sizes.push((what, size)),
        }
    }
    sizes.sort_by_key(|known| std::cmp::Reverse(known.1));
    let all = document.reel.file_bytes();
    ui.heading("File");
    ui.label(bytes(all));
    for (what, size) in sizes {
        let part = size as f32 / all.max(1) as f32;
        let bar = egui::ProgressBar::new(part).desired_height(14.0).corner_radius(0.0);
        ui.add(bar.fill(egui::Color32::from_rgb(45, 80, 120)).text(format!("{} {what}", bytes(size))))
            .on_hover_text(format!("{:.1} % of the file", 100.0 * part));
    }
}

/// Draws a bar for each frame.
fn frames(ui: &mut egui::Ui, document: &mut Document) {
    let reel = document.reel.clone();
    ui.heading("Frames");
    ui.label(format!("{} of {} are frames", bytes(reel.frame_bytes()), bytes(reel.file_bytes())));
    // A chunk may contain several frames: its size is divided among them.
    let count = reel.frame_count();
    let mut shared = std::collections::HashMap::new();
    (0..count).for_each(|f| *shared.entry(reel.frame_chunk(f).offset).or_insert(0u32) += 1);
    let of = |f: usize| {
        let chunk = reel.frame_chunk(f);
        f64::from(chunk.size) / f64::from(shared[&chunk.offset])
    };
    let (response, painter) =
        ui.allocate_painter(egui::vec2(ui.available_width(), 90.0), egui::Sense::click_and_drag());
    let area = response.rect;
    painter.rect_filled(area, 0.0, egui::Color32::from_gray(20));
    let columns = (area.width() as usize).clamp(1, count);
    let most = (0..count).map(of).fold(1.0, f64::max);
    let now = document.frame();
    for column in 0..columns {
        let frames =
            column * count / columns..((column + 1) * count / columns).max(column * count / columns + 1);
        let height = frames.clone().map(of).fold(0.0, f64::max) / most * f64::from(area.height());
        let x = |c: usize| area.left() + area.width() * c as f32 / columns as f32;
        let colour =
            if frames.contains(&now) { egui::Color32::ORANGE } else { egui::Color32::from_rgb(80, 130, 190) };
        let top = area.bottom() - height as f32;
        let bar =
            egui::Rect::from_min_max(egui::pos2(x(column), top), egui::pos2(x(column + 1), area.bottom()));
        painter.rect_filled(bar, 0.0, colour);
    }
    if let Some(at) = response.interact_pointer_pos() {
        let part = ((at.x - area.left()) / area.width()).clamp(0.0, 1.0);
        document.clock.playing = false;
        document.go_to((f64::from(part) * (count - 1) as f64).round() as usize);
    }
    ui.label(format!("frame {now}: {}; largest {}", bytes(of(now) as u64), bytes(most as u64)));
}

/// Lists meshes by their size in the frames that were measured so far.
fn meshes(ui: &mut egui::Ui, document: &Document) {
    let Some(sizes) = &document.sizes else { return };
    let (seen, all) = (&sizes.measured, document.reel.frame_count());
    ui.heading("Meshes");
    match &sizes.failed {
        Some(error) => drop(ui.label(error)),
        None if seen.frames < all => drop(ui.label(format!("of {} of {all} frames so far", seen.frames))),
        None => {}
    }
    let mut meshes: Vec<(f64, usize)> = seen.meshes.iter().copied().zip(0..).collect();
    meshes.sort_by(|a, b| b.0.total_cmp(&a.0));
    for &(size, number) in meshes.iter().take(12).filter(|(size, _)| *size > 0.0) {
        let mesh = &document.reel.description().meshes[number];
        ui.label(format!("{}  {}", bytes(size as u64), mesh.path));
        streams(ui, mesh, &seen.streams[number]);
    }
}

/// Lists the streams of a mesh: their storage, and their size in these frames.
fn streams(ui: &mut egui::Ui, mesh: &MeshRecord, sizes: &[f64]) {
    for (stream, size) in mesh.streams.iter().zip(sizes) {
        let how = if stream.animated { "every frame" } else { "once" };
        let set = if stream.set == 0 { String::new() } else { format!(" {}", stream.set) };
        let bits = if stream.bits == 0 { String::new() } else { format!(", {} bits", stream.bits) };
        let size = if *size > 0.0 { format!("{}  ", bytes(*size as u64)) } else { String::new() };
        ui.weak(format!("    {size}{:?}{set} {how}{bits}", stream.semantic));
    }
}

/// Lists the clips, and layers and tiers of the current one.
fn clips(ui: &mut egui::Ui, document: &Document) {
    let Some(clips) = &document.clips else { return };
    ui.heading("Clips");
    for clip in clips.all() {
        let raw = 40.0 * (clip.joints() * clip.samples()) as f64;
        let size = clip.file_bytes();
        ui.label(format!("{}  {}, {:.1}:1", bytes(size as u64), clip.name(), raw / size.max(1) as f64))
            .on_hover_text("Against 40 bytes a joint and sample");
    }
    for (layer, played) in clips.layers.iter().zip(clips.tiers()) {
        ui.label(format!("layer {}", layer.name));
        let all = layer.tiers.iter().sum::<usize>().max(1) as f32;
        let mut at = 0.0;
        let parts: Vec<_> = (layer.tiers.iter().enumerate())
            .map(|(tier, size)| {
                let colour = match tier < *played {
                    true => egui::Color32::from_rgb(80, 130, 190),
                    false => egui::Color32::from_gray(50),
                };
                let part = at..at + *size as f32 / all;
                at = part.end;
                (part.start..part.end - 0.004, colour)
            })
            .collect();
        stretches(ui, parts.into_iter());
        let sizes: Vec<String> = layer.tiers.iter().map(|size| bytes(*size as u64)).collect();
        ui.label(sizes.join(" + "));
    }
}

/// Returns advice for a smaller file: the compiler's, if the file was just compiled, else conclusions from
/// sizes.
fn advice_lines(document: &Document) -> Vec<String> {
    let all = match &document.report {
        Some(report) => advice::from_report(report),
        None => {
            let (sizes, all) = (document.sizes.as_ref(), document.reel.frame_count());
            let sizes = sizes.filter(|sizes| sizes.measured.frames == all);
            let sizes: Option<Vec<u64>> =
                sizes.map(|sizes| sizes.measured.meshes.iter().map(|size| *size as u64).collect());
            let (description, frames) = (document.reel.description(), document.reel.frame_count());
            advice::from_description(description, frames, sizes.as_deref())
        }
    };
    match all.is_empty() {
        true => vec!["Nothing stands out.".into()],
        false => all.iter().map(advice::Advice::line).collect(),
    }
}
