//! `tables`: makes the default sets of tables from short excerpts of sequences, by Lloyd's algorithm: each
//! excerpt belongs to the set with the fewest bits for its tokens, and each set is made from its excerpts'
//! tokens. All excerpts have the same weight, whatever their size.

use crate::soft::{Sequence, find};
use anyhow::{Context, bail};
use meshreel_codec::mesh::defaults::DEFAULT_SETS;
use meshreel_codec::mesh::encode::{EncodeBuffers, EncodeError, Encoder, Options};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::tables::{TokenCounts, TokenTables};
use meshreel_codec::mesh::{defaults, hierarchy};
use meshreel_codec::quantize::lattice::Extent;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders with sequences, or paths of single ones (NAME.obj beside NAME.pc2).
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only these sequences.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Instead of making the sets: print, for each sequence, the savings of these sets, and of sets made
    /// without it.
    #[arg(long)]
    held_out: bool,
    /// The number of sets.
    #[arg(long, default_value_t = usize::from(DEFAULT_SETS))]
    sets: usize,
    /// Write the sets into the codec and the document of a checkout with this root.
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Tolerances as fractions of the diagonal, and lengths in frames, of the excerpts.
const TOLERANCES: [f64; 5] = [1e-2, 2e-3, 5e-4, 1e-4, 1e-5];
const LENGTHS: [u32; 2] = [9, 24];
/// Bits that each excerpt is scaled to.
const WEIGHT: f64 = 2e5;
const ROUNDS: usize = 6;

#[derive(Clone)]
struct Excerpt {
    sequence: String,
    frames: u32,
    name: String,
    counts: TokenCounts,
    /// Bits of its tokens with tables of its own, which no file keeps.
    bits: f64,
    /// Bits of its own tables in the static part.
    table_bits: f64,
    /// Fraction of points without residual.
    zeros: f64,
}

/// Prints, for each excerpt, the size with its own tables and with its set.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let mut pieces = Vec::new();
    for path in find(&arguments.paths, &arguments.only)? {
        let sequence = Sequence::read(&path).with_context(|| path.display().to_string())?;
        let hierarchy = hierarchy::build(sequence.points as u32, &sequence.triangles);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for tolerance in TOLERANCES {
            let extent = sequence.extent(tolerance);
            for frames in LENGTHS {
                for first in [0, sequence.frames / 2] {
                    let part = sequence.frame_range(first, frames);
                    let mut piece = code_excerpt(&part, &hierarchy, extent)?;
                    piece.sequence = name.to_string();
                    piece.name = format!("{name} {tolerance:.0e} {first}+{frames}");
                    pieces.push(piece);
                }
            }
        }
    }
    if arguments.held_out {
        held_out(&pieces, arguments.sets)?;
        return Ok(true);
    }
    let (sets, of) = cluster(&mut pieces, arguments.sets)?;
    println!(
        "{:<28} {:>10} {:>8} {:>8} {:>8} {:>4}",
        "piece", "token bits", "tables", "new set", "present", "set"
    );
    for (piece, &set) in pieces.iter().zip(&of) {
        let bits = sets[set].bits(&piece.counts);
        let present =
            (1..=DEFAULT_SETS).filter_map(|n| Some(defaults::default_set(n).ok()?.bits(&piece.counts)));
        let present = present.fold(f64::INFINITY, f64::min);
        println!(
            "{:<28} {:>10.0} {:>7.1}% {:>7.1}% {:>7.1}% {:>4}",
            piece.name,
            piece.bits,
            100.0 * piece.table_bits / piece.bits,
            100.0 * (bits / piece.bits - 1.0),
            100.0 * (present / piece.bits - 1.0),
            set + 1
        );
    }
    if let Some(root) = &arguments.write {
        write(root, &sets)?;
    }
    Ok(true)
}

/// Prints, by sequence and length, the mean fraction of tokens and tables that a default set saves, with the
/// encoder's choice of set.
fn held_out(pieces: &[Excerpt], sets: usize) -> anyhow::Result<()> {
    let saved = |piece: &Excerpt, sets: &[TokenTables]| {
        let own = piece.bits + piece.table_bits;
        let best = sets.iter().map(|set| set.bits(&piece.counts));
        1.0 - best.fold(own, f64::min) / own
    };
    let mut names: Vec<&String> = pieces.iter().map(|p| &p.sequence).collect();
    names.dedup();
    let (all, _) = cluster(&mut pieces.to_vec(), sets)?;
    println!("{:<16} {:>6} {:>12} {:>12}", "saved", "frames", "of all", "held out");
    for name in names {
        let mut others: Vec<Excerpt> = pieces.to_vec();
        others.retain(|p| p.sequence != *name);
        let (made, _) = cluster(&mut others, sets)?;
        for frames in LENGTHS {
            let mine = pieces.iter().filter(|p| p.sequence == *name);
            let mine: Vec<&Excerpt> = mine.filter(|p| p.frames == frames).collect();
            let mean = |sets: &[TokenTables]| {
                let sum: f64 = mine.iter().map(|p| saved(p, sets)).sum();
                100.0 * sum / mine.len().max(1) as f64
            };
            println!("{name:<16} {frames:>6} {:>11.1}% {:>11.1}%", mean(&all), mean(&made));
        }
    }
    Ok(())
}

/// Codes an excerpt and counts its tokens.
fn code_excerpt(part: &Sequence, hierarchy: &Hierarchy, extent: Extent) -> anyhow::Result<Excerpt> {
    let options = Options { own_tables: true, ..Options::default() };
    let counted = match Encoder::<i16>::new(
        hierarchy.clone(),
        part.frames,
        extent,
        options,
        part,
        &mut EncodeBuffers::default(),
    ) {
        Err(EncodeError::TooFine) => Encoder::<i32>::new(
            hierarchy.clone(),
            part.frames,
            extent,
            options,
            part,
            &mut EncodeBuffers::default(),
        )?
        .counts()
        .cloned(),
        other => other?.counts().cloned(),
    };
    let counts = counted.context("tables of its own were asked for")?;
    let own = counts.tables(1.0, 0);
    Ok(Excerpt {
        sequence: String::new(),
        frames: part.frames,
        name: String::new(),
        bits: own.bits(&counts),
        table_bits: 8.0 * own.encode().len() as f64,
        zeros: counts.zero_fraction(),
        counts,
    })
}

/// Returns the sets, and the number of the set of each excerpt.
fn cluster(pieces: &mut [Excerpt], sets: usize) -> anyhow::Result<(Vec<TokenTables>, Vec<usize>)> {
    if pieces.len() < sets {
        bail!("{} excerpts are too few for {sets} sets", pieces.len());
    }
    pieces.sort_by(|a, b| b.zeros.total_cmp(&a.zeros));
    let count = pieces.len();
    let mut of: Vec<usize> = (0..count).map(|n| n * sets / count).collect();
    let mut tables = Vec::new();
    for _ in 0..ROUNDS {
        tables = (0..sets).map(|set| set_tables(pieces, &of, set)).collect();
        for (piece, of) in pieces.iter().zip(&mut of) {
            let bits: Vec<f64> = tables.iter().map(|t: &TokenTables| t.bits(&piece.counts)).collect();
            for (n, &b) in bits.iter().enumerate() {
                if b < bits[*of] {
                    *of = n;
                }
            }
        }
    }
    Ok((tables, of))
}

fn set_tables(pieces: &[Excerpt], of: &[usize], set: usize) -> TokenTables {
    let mut counts = TokenCounts::default();
    for (piece, _) in pieces.iter().zip(of).filter(|p| *p.1 == set) {
        counts.merge_weighted(&piece.counts, WEIGHT / piece.bits.max(1.0));
    }
    counts.tables(1.0, 0)
}

/// Writes `defaults.bin` of the codec, and `tables.hex` of the document.
fn write(root: &Path, sets: &[TokenTables]) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    let mut text = String::from(
        "# The default sets of tables of the format, in order: hexadecimal, an empty line between two.\n",
    );
    for (n, set) in sets.iter().enumerate() {
        let coded = set.encode();
        bytes.extend_from_slice(&u16::try_from(coded.len())?.to_le_bytes());
        bytes.extend_from_slice(&coded);
        if n > 0 {
            text.push('\n');
        }
        for line in coded.chunks(64) {
            line.iter().try_for_each(|b| write!(text, "{b:02x}"))?;
            text.push('\n');
        }
    }
    std::fs::write(root.join("crates/codec/src/mesh/defaults.bin"), bytes)?;
    std::fs::write(root.join("docs/FORMAT/tables.hex"), text)?;
    Ok(())
}
