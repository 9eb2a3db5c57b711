//! The contexts of tokens, and their frequency tables.
//!
//! A context consists of the layer (frame 0, key frames, depths 1 … 4), a class of the neighbours'
//! magnitudes, and a class of the same vertex's magnitudes in the first two references. The encoder merges
//! contexts into a few tables; map and tables are in the static part, coded by [`crate::entropy::range`] with
//! [`SettlingChance`] chances, so that an access unit needs none of its own.
//!
//! | field | coding |
//! |---|---|
//! | number of tables − 1 | 5 bits |
//! | map, contexts in order | one bit if it equals that of the context before, else 5 bits more |
//! | per table and token | bits of the frequency (0 … 13) in a tree whose model follows the same token of the table before and the smaller tokens of this one; then up to two bits below the highest one |
//!
//! The frequency of a table's most frequent token is the rest up to 4096.

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::entropy::range::Encoder;
use crate::entropy::range::{Decoder, SettlingChance};
use crate::entropy::rans::{Frequencies, TOTAL};
use crate::mesh::token::{ESCAPE, TOKENS};

pub use crate::quantize::lattice::LAYERS;

/// The number of classes of the neighbours' magnitudes.
pub const NEIGHBOUR_CLASSES: usize = 20;
/// The number of classes of the references' magnitudes.
pub const REFERENCE_CLASSES: usize = 5;
/// The number of contexts.
pub const CONTEXTS: usize = LAYERS * NEIGHBOUR_CLASSES * REFERENCE_CLASSES;
/// The largest number of tables.
pub const MAX_TABLES: usize = 32;

/// The smallest sum of four neighbours' magnitudes in class 1, 2, … Part of the format.
const NEIGHBOUR_CLASS_BOUNDS: [i32; NEIGHBOUR_CLASSES - 1] =
    [1, 2, 3, 5, 7, 9, 13, 17, 25, 33, 49, 81, 161, 321, 641, 1281, 2561, 5121, 10_241];
/// The smallest magnitude of the references in class 1, 2, …
const REFERENCE_CLASS_BOUNDS: [i32; REFERENCE_CLASSES - 1] = [1, 3, 6, 13];

/// Returns the class of the sum of four neighbours' magnitudes.
#[inline(always)]
pub fn neighbour_class(sum: i32) -> usize {
    match NEIGHBOUR_CLASS_TABLE.get(sum as usize) {
        Some(&class) => usize::from(class),
        None => NEIGHBOUR_CLASS_BOUNDS.iter().filter(|b| sum >= **b).count(),
    }
}

/// Returns the class of the larger magnitude of the first two references.
#[inline(always)]
pub fn reference_class(magnitude: i32) -> usize {
    REFERENCE_CLASS_BOUNDS.iter().filter(|b| magnitude >= **b).count()
}

static NEIGHBOUR_CLASS_TABLE: [u8; 256] = neighbour_class_table();

const fn neighbour_class_table() -> [u8; 256] {
    let mut out = [0; 256];
    let mut sum = 0;
    while sum < 256 {
        let mut class = 0;
        while class < NEIGHBOUR_CLASSES - 1 && sum as i32 >= NEIGHBOUR_CLASS_BOUNDS[class] {
            class += 1;
        }
        out[sum] = class as u8;
        sum += 1;
    }
    out
}

/// Returns the number of low bits that stay raw for a class of neighbours.
#[inline(always)]
pub const fn shift(near: usize) -> u32 {
    near.saturating_sub(11) as u32
}

/// Returns the number of a context.
#[inline(always)]
pub const fn context(layer: usize, near: usize, past: usize) -> usize {
    (layer * NEIGHBOUR_CLASSES + near) * REFERENCE_CLASSES + past
}

/// Returns the class of neighbours of a context.
#[cfg(feature = "encode")]
#[inline(always)]
pub const fn context_neighbour_class(context: usize) -> usize {
    context / REFERENCE_CLASSES % NEIGHBOUR_CLASSES
}

/// The frequency tables, and the table of each context.
#[derive(Debug, Clone)]
pub struct TokenTables {
    /// The number of the table, by context.
    pub map: [u8; CONTEXTS],
    /// The frequencies of all tokens, per table.
    pub tables: Vec<Frequencies>,
}

impl TokenTables {
    /// Returns the bits that the counted tokens take with these tables, without raw bits.
    #[cfg(feature = "encode")]
    pub fn bits(&self, counts: &TokenCounts) -> f64 {
        self.bits_by(&self.lengths(), &counts.occurring())
    }

    /// Does the same as [`TokenTables::bits`] for many tables and tokens that occur: `lengths` are those of
    /// [`TokenTables::lengths`].
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn bits_by(&self, lengths: &[TokenLengths], tokens: &OccurringTokens) -> f64 {
        let context = |(c, tokens): &(usize, Vec<(u8, u32)>)| -> f64 {
            let lengths = &lengths[usize::from(self.map[*c])];
            tokens.iter().map(|&(token, n)| f64::from(n) * lengths[usize::from(token)]).sum()
        };
        tokens.iter().map(context).sum()
    }

    /// Returns the bits of each token, per table.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn lengths(&self) -> Vec<TokenLengths> {
        let of_table = |t: &Frequencies| {
            let escape = 48.0 + bits_of(t[usize::from(ESCAPE)].max(1));
            t.map(|f| if f == 0 { escape } else { bits_of(f) })
        };
        self.tables.iter().map(of_table).collect()
    }

    /// Codes the tables.
    #[cfg(feature = "encode")]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut w = Encoder::new(&mut bytes);
        put_plain(&mut w, self.tables.len() as u32 - 1, 5);
        let (mut same, mut index) = ([SettlingChance::default(); 4], [SettlingChance::default(); 32]);
        for (c, &table) in self.map.iter().enumerate() {
            let (first, second) = guesses(&self.map, c);
            w.encode(&mut same[0], table != first);
            if table != first {
                if second != first {
                    w.encode(&mut same[1], table != second);
                }
                if second == first || table != second {
                    put_tree(&mut w, &mut index, u32::from(table), 5);
                }
            }
        }
        let mut models = Lengths::new();
        let mut before = [0; TOKENS];
        for table in &self.tables {
            let most = most_frequent(table);
            put_tree(&mut w, &mut models.most, most as u32, 8);
            let mut lengths = [0; TOKENS];
            for (token, &f) in table.iter().enumerate() {
                if token == most {
                    lengths[token] = 12;
                    continue;
                }
                let length = length(f);
                let at = models.model(token, &lengths, &before);
                put_tree(&mut w, &mut models.length[at], length, 4);
                let extra = length.saturating_sub(1).min(MANTISSA);
                let mantissa = (u32::from(f) >> (length.saturating_sub(1) - extra)) & ((1 << extra) - 1);
                put_plain(&mut w, mantissa, extra);
                lengths[token] = length as u8;
            }
            before = lengths;
        }
        w.finish_low();
        bytes
    }

    /// Decodes tables. Fails if bytes are left over.
    pub fn decode(bytes: &[u8]) -> Result<TokenTables, Corrupt> {
        let mut r = Decoder::new(bytes);
        let count = take_plain(&mut r, 5) as usize + 1;
        let mut map = [0; CONTEXTS];
        let (mut same, mut index) = ([SettlingChance::default(); 4], [SettlingChance::default(); 32]);
        for c in 0..CONTEXTS {
            let (first, second) = guesses(&map, c);
            map[c] = if !r.decode(&mut same[0]) {
                first
            } else if second != first && !r.decode(&mut same[1]) {
                second
            } else {
                take_tree(&mut r, &mut index, 5) as u8
            };
            if usize::from(map[c]) >= count {
                return Err(Corrupt("tables: a context without table"));
            }
        }
        let mut tables = Vec::with_capacity(count);
        let mut models = Lengths::new();
        let mut before = [0; TOKENS];
        for _ in 0..count {
            let most = take_tree(&mut r, &mut models.most, 8) as usize;
            if most >= TOKENS {
                return Err(Corrupt("tables: unknown token"));
            }
            let mut lengths = [0; TOKENS];
            let mut table = [0u16; TOKENS];
            let mut left = TOTAL;
            for token in 0..TOKENS {
                if token == most {
                    lengths[token] = 12;
                    continue;
                }
                let at = models.model(token, &lengths, &before);
                let length = take_tree(&mut r, &mut models.length[at], 4);
                let extra = length.saturating_sub(1).min(MANTISSA);
                let mantissa = take_plain(&mut r, extra);
                let f = match length {
                    0 => 0,
                    1..=12 => (1 << extra | mantissa) << (length - 1 - extra),
                    _ => return Err(Corrupt("tables: frequency too large")),
                };
                left = left
                    .checked_sub(f)
                    .filter(|left| *left > 0)
                    .ok_or(Corrupt("tables: frequencies exceed their sum"))?;
                table[token] = f as u16;
                lengths[token] = length as u8;
            }
            table[most] = left as u16;
            before = lengths;
            tables.push(table);
        }
        if !r.finished() {
            return Err(Corrupt("tables: bytes left over"));
        }
        Ok(TokenTables { map, tables })
    }
}

/// Writes `count` bits through a tree of 2^count adaptive chances, the highest bit first.
#[cfg(feature = "encode")]
fn put_tree(out: &mut Encoder, chances: &mut [SettlingChance], value: u32, count: u32) {
    let mut node = 1;
    for bit in (0..count).rev() {
        let one = value >> bit & 1;
        out.encode(&mut chances[node], one != 0);
        node = 2 * node + one as usize;
    }
}

/// Writes `count` bits that are equally likely 0 and 1, the highest first.
#[cfg(feature = "encode")]
fn put_plain(out: &mut Encoder, value: u32, count: u32) {
    for bit in (0..count).rev() {
        out.encode(&mut SettlingChance::default(), value >> bit & 1 != 0);
    }
}

/// Reads the bits that [`put_tree`] wrote.
fn take_tree(from: &mut Decoder, chances: &mut [SettlingChance], count: u32) -> u32 {
    let mut node = 1;
    for _ in 0..count {
        node = 2 * node + usize::from(from.decode(&mut chances[node]));
    }
    node as u32 - (1 << count)
}

/// Reads the bits that [`put_plain`] wrote.
fn take_plain(from: &mut Decoder, count: u32) -> u32 {
    (0..count).fold(0, |v, _| v << 1 | u32::from(from.decode(&mut SettlingChance::default())))
}

/// Returns the bits of a token of this frequency.
#[cfg(feature = "encode")]
fn bits_of(frequency: u16) -> f64 {
    static BITS: std::sync::LazyLock<Vec<f64>> = std::sync::LazyLock::new(|| {
        let bits = |f: u32| (f64::from(TOTAL) / f64::from(f.max(1))).log2();
        (0..=TOTAL).map(bits).collect()
    });
    BITS[usize::from(frequency)]
}

/// The number of bits that are kept of a frequency below its highest one.
const MANTISSA: u32 = 2;

#[cfg(feature = "encode")]
fn length(f: u16) -> u32 {
    u16::BITS - f.leading_zeros()
}

/// Returns the two most likely tables of a context: those of contexts that differ by one class.
fn guesses(map: &[u8; CONTEXTS], c: usize) -> (u8, u8) {
    let past = c % REFERENCE_CLASSES;
    let near = c / REFERENCE_CLASSES % NEIGHBOUR_CLASSES;
    let up = |step: usize| c.checked_sub(step).map_or(0, |c| map[c]);
    match (past > 0, near > 0) {
        (true, _) => (up(1), up(REFERENCE_CLASSES)),
        (false, true) => (up(REFERENCE_CLASSES), up(NEIGHBOUR_CLASSES * REFERENCE_CLASSES)),
        (false, false) => (up(NEIGHBOUR_CLASSES * REFERENCE_CLASSES), up(1)),
    }
}

/// Returns the token whose frequency is not coded but is the rest: one whose frequency has too many bits to
/// be coded, else the most frequent.
#[cfg(feature = "encode")]
fn most_frequent(table: &Frequencies) -> usize {
    if let Some(token) = table.iter().position(|&f| f > 0 && short(f64::from(f)) != f) {
        return token;
    }
    let mut most = 0;
    for (token, f) in table.iter().enumerate() {
        if *f > table[most] {
            most = token;
        }
    }
    most
}

struct Lengths {
    most: [SettlingChance; 256],
    length: [[SettlingChance; 16]; 64],
}

impl Lengths {
    fn new() -> Lengths {
        Lengths { most: [SettlingChance::default(); 256], length: [[SettlingChance::default(); 16]; 64] }
    }

    /// Returns the model of a token's length, from its length in the table before and those of smaller tokens
    /// in this one.
    fn model(&self, token: usize, lengths: &[u8; TOKENS], before: &[u8; TOKENS]) -> usize {
        let old = u32::from(before[token]);
        if token == usize::from(ESCAPE) {
            return old as usize;
        }
        let (mut sum, mut count) = (0, 0);
        for step in [25, 5, 1] {
            if !(token / step).is_multiple_of(5) {
                sum += u32::from(lengths[token - step]);
                count += 1;
            }
        }
        let near = u32::checked_div(sum, count).unwrap_or(old);
        16 + ((old + near).min(23) * 2 + u32::from(old > 0)) as usize
    }
}

/// The bits of each token with one table.
#[cfg(feature = "encode")]
pub(in crate::mesh) type TokenLengths = [f64; TOKENS];

/// Contexts, ascending, with the tokens that occur in each and their counts.
#[cfg(feature = "encode")]
pub(in crate::mesh) type OccurringTokens = Vec<(usize, Vec<(u8, u32)>)>;

/// Token counts by context, from which tables are made.
#[cfg(feature = "encode")]
#[derive(Debug, Clone)]
pub struct TokenCounts {
    /// The row of each context; [`NO_ROW`] if it does not occur.
    rows: Box<[u16; CONTEXTS]>,
    counts: Vec<[u32; TOKENS]>,
}

#[cfg(feature = "encode")]
const NO_ROW: u16 = u16::MAX;

#[cfg(feature = "encode")]
impl Default for TokenCounts {
    /// Starts with no tokens counted.
    fn default() -> TokenCounts {
        TokenCounts { rows: Box::new([NO_ROW; CONTEXTS]), counts: Vec::new() }
    }
}

#[cfg(feature = "encode")]
impl TokenCounts {
    /// Counts a token `times` times.
    #[inline(always)]
    pub fn add(&mut self, context: u16, token: u8, times: u32) {
        self.row_mut(usize::from(context))[usize::from(token)] += times;
    }

    #[inline(always)]
    fn row_mut(&mut self, context: usize) -> &mut [u32; TOKENS] {
        let row = &mut self.rows[context];
        if *row == NO_ROW {
            *row = self.counts.len() as u16;
            self.counts.push([0; TOKENS]);
        }
        &mut self.counts[usize::from(*row)]
    }

    /// Returns the counts of a context.
    fn row(&self, context: usize) -> &[u32; TOKENS] {
        static NOTHING_COUNTED: [u32; TOKENS] = [0; TOKENS];
        self.counts.get(usize::from(self.rows[context])).unwrap_or(&NOTHING_COUNTED)
    }

    /// Returns the contexts that occur, with their counts, ascending.
    fn contexts(&self) -> impl Iterator<Item = (usize, &[u32; TOKENS])> {
        (0..CONTEXTS).filter(|&c| self.rows[c] != NO_ROW).map(|c| (c, self.row(c)))
    }

    /// Returns the tokens that occur.
    pub(in crate::mesh) fn occurring(&self) -> OccurringTokens {
        let tokens = |counts: &[u32; TOKENS]| {
            (0u8..).zip(counts).filter(|(_, n)| **n > 0).map(|(token, n)| (token, *n)).collect()
        };
        self.contexts().map(|(c, counts)| (c, tokens(counts))).collect()
    }

    /// Adds the counts of other frames.
    pub fn merge(&mut self, other: &TokenCounts) {
        for (c, b) in other.contexts() {
            self.row_mut(c).iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }

    /// Returns the fraction of tokens that are 0.
    pub fn zero_fraction(&self) -> f64 {
        let sum = |part: &[u32]| part.iter().map(|&n| f64::from(n)).sum::<f64>();
        let all: f64 = self.contexts().map(|(_, counts)| sum(counts)).sum();
        let zeros: f64 = self.contexts().map(|(_, counts)| sum(&counts[..1])).sum();
        zeros / all.max(1.0)
    }

    /// Adds other counts, multiplied by `times`.
    pub fn merge_weighted(&mut self, other: &TokenCounts, times: f64) {
        for (c, b) in other.contexts() {
            for (a, b) in self.row_mut(c).iter_mut().zip(b) {
                *a = a.saturating_add((f64::from(*b) * times).round() as u32);
            }
        }
    }

    /// Returns the best tables for these counts. `scale` is the ratio of tokens in the file to tokens
    /// counted. `most` is the highest count of a token in a sample that may have occurred only once; 0 if all
    /// tokens were counted.
    pub fn tables(&self, scale: f64, most: u32) -> TokenTables {
        let mut map = [0u8; CONTEXTS];
        let mut clusters: Vec<Cluster> = Vec::new();
        for k in 0..=8 {
            let members: Vec<usize> = (0..CONTEXTS)
                .filter(|c| shift(context_neighbour_class(*c)) == k)
                .filter(|&c| self.row(c).iter().any(|n| *n > 0))
                .collect();
            clusters.extend(self.cluster(&members, if k == 0 { 40 } else { 3 }));
        }
        if clusters.is_empty() {
            clusters.push(Cluster::empty());
        }
        merge_clusters(&mut clusters, scale);
        clusters.sort_by_key(|c| c.members.iter().min().copied());
        for (t, cluster) in clusters.iter().enumerate() {
            cluster.members.iter().for_each(|&c| map[c] = t as u8);
        }
        // Contexts that did not occur take the table that is cheapest to code.
        for c in 0..CONTEXTS {
            if self.row(c).iter().all(|n| *n == 0) {
                map[c] = guesses(&map, c).0;
            }
        }
        let tables = clusters.iter().map(|c| normalise(&expected(c, &clusters, most)));
        TokenTables { map, tables: tables.collect() }
    }

    /// Returns tables for these counts with the context map of known tables: nearly as good if the counts are
    /// similar, and much faster.
    pub fn tables_like(&self, known: &TokenTables, most: u32) -> TokenTables {
        let mut clusters = vec![Cluster::empty(); known.tables.len()];
        for (c, &table) in known.map.iter().enumerate() {
            clusters[usize::from(table)].add(c, self.row(c));
        }
        let new = |(cluster, old): (&Cluster, &Frequencies)| match cluster.counts[..] {
            [0, ..] if cluster.counts.iter().all(|n| *n == 0) => *old,
            _ => normalise(&expected(cluster, &clusters, most)),
        };
        TokenTables { map: known.map, tables: clusters.iter().zip(&known.tables).map(new).collect() }
    }

    /// Runs Lloyd's algorithm with code lengths as the distance, starting from clusters of equal weight in
    /// order of the share of token 0.
    fn cluster(&self, members: &[usize], most: usize) -> Vec<Cluster> {
        let sum = |c: usize| self.row(c).iter().map(|&n| u64::from(n)).sum::<u64>();
        let zero = |c: usize| f64::from(self.row(c)[0]) / sum(c).max(1) as f64;
        let mut order = members.to_vec();
        order.sort_by(|&a, &b| zero(a).total_cmp(&zero(b)));
        let information = |c: usize| cost(self.row(c)) + 1.0;
        let total: f64 = order.iter().map(|&c| information(c)).sum();
        let mut clusters: Vec<Cluster> = Vec::new();
        let mut done = 0.0;
        for &c in &order {
            if clusters.is_empty()
                || done * most as f64 >= total * clusters.len() as f64 && clusters.len() < most
            {
                clusters.push(Cluster::empty());
            }
            if let Some(last) = clusters.last_mut() {
                last.add(c, self.row(c));
            }
            done += information(c);
        }
        for _ in 0..4 {
            let lengths: Vec<[f32; TOKENS]> = clusters.iter().map(|c| c.lengths()).collect();
            let mut next = vec![Cluster::empty(); clusters.len()];
            for &c in &order {
                let present: Vec<(usize, f32)> = self
                    .row(c)
                    .iter()
                    .enumerate()
                    .filter(|(_, n)| **n > 0)
                    .map(|(t, n)| (t, *n as f32))
                    .collect();
                let bits = |l: &[f32; TOKENS]| present.iter().map(|&(t, n)| n * l[t]).sum::<f32>();
                let mut best = (f32::MAX, 0);
                for (i, l) in lengths.iter().enumerate() {
                    let b = bits(l);
                    if b < best.0 {
                        best = (b, i);
                    }
                }
                next[best.1].add(c, self.row(c));
            }
            next.retain(|c| !c.members.is_empty());
            clusters = next;
        }
        clusters
    }
}

#[cfg(feature = "encode")]
#[derive(Debug, Clone)]
struct Cluster {
    members: Vec<usize>,
    counts: Box<[u32; TOKENS]>,
    cost: f64,
}

#[cfg(feature = "encode")]
impl Cluster {
    #[cfg(feature = "encode")]
    fn empty() -> Cluster {
        Cluster { members: Vec::new(), counts: Box::new([0; TOKENS]), cost: 0.0 }
    }

    #[cfg(feature = "encode")]
    fn add(&mut self, context: usize, counts: &[u32; TOKENS]) {
        self.members.push(context);
        self.counts.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
    }

    #[cfg(feature = "encode")]
    fn lengths(&self) -> [f32; TOKENS] {
        let sum: f32 = self.counts.iter().map(|&n| n as f32 + 0.02).sum();
        std::array::from_fn(|t| (sum / (self.counts[t] as f32 + 0.02)).log2())
    }

    #[cfg(feature = "encode")]
    fn shift(&self) -> u32 {
        self.members.first().map_or(0, |c| shift(c / REFERENCE_CLASSES % NEIGHBOUR_CLASSES))
    }
}

#[cfg(feature = "encode")]
fn x_log_x(n: u32) -> f64 {
    match n {
        0 | 1 => 0.0,
        _ => f64::from(n) * f64::from(n).log2(),
    }
}

/// Returns the bits of the tokens with an ideal table for them.
#[cfg(feature = "encode")]
fn cost(counts: &[u32; TOKENS]) -> f64 {
    let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
    sum as f64 * (sum.max(1) as f64).log2() - counts.iter().map(|&n| x_log_x(n)).sum::<f64>()
}

/// Estimates the bits of a table in the static part.
#[cfg(feature = "encode")]
fn table_bits(counts: &[u32; TOKENS]) -> f64 {
    20.0 + 6.0 * counts.iter().filter(|n| **n > 0).count() as f64
}

/// Merges clusters of equal shift, the cheapest pair first, while that saves bits or there are too many
/// tables.
#[cfg(feature = "encode")]
fn merge_clusters(clusters: &mut Vec<Cluster>, scale: f64) {
    let price = |counts: &[u32; TOKENS]| scale * cost(counts) + table_bits(counts);
    clusters.iter_mut().for_each(|c| c.cost = price(&c.counts));
    let loss = |a: &Cluster, b: &Cluster| {
        let both: [u32; TOKENS] = std::array::from_fn(|t| a.counts[t] + b.counts[t]);
        price(&both) - a.cost - b.cost
    };
    let mut losses: Vec<(f64, usize, usize)> = Vec::new();
    for i in 0..clusters.len() {
        for j in 0..i {
            if clusters[i].shift() == clusters[j].shift() {
                losses.push((loss(&clusters[j], &clusters[i]), j, i));
            }
        }
    }
    let mut alive = clusters.len();
    while let Some(&(least, a, b)) = losses.iter().min_by(|x, y| x.0.total_cmp(&y.0)) {
        if least > 0.0 && alive <= MAX_TABLES - 4 {
            break;
        }
        let taken = std::mem::replace(&mut clusters[b], Cluster::empty());
        let into = &mut clusters[a];
        into.members.extend(&taken.members);
        into.counts.iter_mut().zip(taken.counts.iter()).for_each(|(a, b)| *a += b);
        into.cost = price(&into.counts);
        alive -= 1;
        losses.retain(|l| l.1 != b && l.2 != b);
        for l in &mut losses {
            if l.1 == a || l.2 == a {
                l.0 = loss(&clusters[l.1], &clusters[l.2]);
            }
        }
    }
    clusters.retain(|c| !c.members.is_empty());
    if clusters.is_empty() {
        clusters.push(Cluster::empty());
    }
}

/// Estimates the counts of the whole file from those of a sample: tokens that the cluster lacks get a share
/// from the other clusters of the same shift, in total as many as occurred at most `most` times here.
#[cfg(feature = "encode")]
fn expected(cluster: &Cluster, all: &[Cluster], most: u32) -> [f64; TOKENS] {
    let mut out = cluster.counts.map(f64::from);
    if most == 0 {
        return out;
    }
    let rare = cluster.counts.iter().filter(|n| **n <= most);
    let once = f64::from(rare.sum::<u32>());
    let others = all.iter().filter(|c| c.shift() == cluster.shift());
    let mut elsewhere = [0.0; TOKENS];
    for other in others {
        for t in 0..TOKENS {
            if cluster.counts[t] == 0 {
                elsewhere[t] += f64::from(other.counts[t]);
            }
        }
    }
    let sum: f64 = elsewhere.iter().sum();
    if sum > 0.0 {
        for t in 0..TOKENS {
            out[t] += (once + 0.5) * elsewhere[t] / sum;
        }
    }
    out
}

/// Returns codable frequencies close to the counts; the escape always has one. Very rare tokens have none if
/// even the smallest frequency would cost the others more than escapes do.
#[cfg(feature = "encode")]
fn normalise(counts: &[f64; TOKENS]) -> Frequencies {
    let sum = counts.iter().sum::<f64>().max(1e-9);
    let mut most = 0;
    for (t, n) in counts.iter().enumerate() {
        if *n > counts[most] {
            most = t;
        }
    }
    let rare = |n: f64| n * ESCAPE_BITS < sum / f64::from(TOTAL) * std::f64::consts::LOG2_E;
    let mut out = [0u16; TOKENS];
    let ideal = counts[most] / sum;
    let mut scale = f64::from(TOTAL);
    loop {
        let mut left = i64::from(TOTAL);
        for (t, &n) in counts.iter().enumerate() {
            if t == most {
                continue;
            }
            let f = match rare(n) {
                true => u16::from(t == usize::from(ESCAPE)),
                false => short(n / sum * scale),
            };
            out[t] = f;
            left -= i64::from(f);
        }
        // Small frequencies are rounded up to 1, so the others must make room.
        if left as f64 >= 0.9 * ideal * f64::from(TOTAL) && left > 0 {
            out[most] = left as u16;
            break;
        }
        scale *= 0.97;
    }
    out
}

// Tuning: the extra bits of an escape over a rare token.
#[cfg(feature = "encode")]
const ESCAPE_BITS: f64 = 40.0;

/// Returns the nearest frequency with two bits below its highest one, at least 1.
#[cfg(feature = "encode")]
fn short(wanted: f64) -> u16 {
    let f = wanted.round().clamp(1.0, 4000.0) as u16;
    let drop = length(f).saturating_sub(1 + MANTISSA);
    if drop == 0 {
        return f;
    }
    let unit = f64::from(1u16 << drop);
    ((wanted / unit).round() * unit) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(seed: u64, symbols: usize) -> TokenCounts {
        let mut counts = TokenCounts::default();
        let mut s = seed;
        for _ in 0..symbols {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let c = (s >> 33) as usize % CONTEXTS;
            let spread = 1 + (c / REFERENCE_CLASSES % NEIGHBOUR_CLASSES) as u64;
            let token = (s >> 44) % 251 % (spread * spread).min(251);
            counts.add(c as u16, token as u8, 1);
        }
        counts
    }

    #[test]
    fn classes() {
        assert_eq!([0, 1, 2, 3, 4, 5, 80, 81].map(neighbour_class), [0, 1, 2, 3, 3, 4, 11, 12]);
        assert_eq!([160, 161, 10_240, 10_241, 16_380].map(neighbour_class), [12, 13, 18, 19, 19]);
        assert_eq!([0, 1, 2, 3, 12, 13].map(reference_class), [0, 1, 1, 2, 3, 4]);
        assert_eq!([0, 11, 12, 19].map(shift), [0, 0, 1, 8]);
    }

    /// The default sets, coded again, give the bytes first written.
    #[test]
    fn bytes_are_frozen() {
        for coded in crate::mesh::defaults::coded_sets() {
            assert_eq!(TokenTables::decode(coded).unwrap().encode(), coded);
        }
    }

    #[test]
    fn tables_come_back() {
        for (symbols, scale, most) in
            [(0, 1.0, 0), (1, 1.0, 1), (300, 1.0, 0), (100_000, 1.0, 0), (20_000, 50.0, 1)]
        {
            let counts = counted(7, symbols);
            let tables = counts.tables(scale, most);
            for t in &tables.tables {
                assert_eq!(t.iter().map(|&f| u32::from(f)).sum::<u32>(), TOTAL);
                assert!(t[usize::from(ESCAPE)] > 0);
            }
            for c in 0..CONTEXTS {
                for t in 0..TOKENS {
                    let has = tables.tables[usize::from(tables.map[c])][t] > 0;
                    // Only rare tokens are left to the escape.
                    assert!(has || counts.row(c)[t] < 10);
                }
            }
            let bytes = tables.encode();
            assert_eq!(bytes, tables.encode());
            let back = TokenTables::decode(&bytes).unwrap();
            assert_eq!((&back.map, &back.tables), (&tables.map, &tables.tables));
            for cut in 0..bytes.len().min(300) {
                let _ = TokenTables::decode(&bytes[..cut]);
            }
            for at in 0..bytes.len().min(300) {
                for bit in 0..8 {
                    let mut bad = bytes.clone();
                    bad[at] ^= 1 << bit;
                    if let Ok(t) = TokenTables::decode(&bad) {
                        crate::mesh::table_sets::DecodingTables::new(&t, 0);
                        crate::mesh::table_sets::DecodingTables::new(&t, usize::MAX);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(t) = TokenTables::decode(&bytes) {
                for t in &t.tables {
                    prop_assert_eq!(t.iter().map(|&f| u32::from(f)).sum::<u32>(), TOTAL);
                }
            }
        }
    }
}
