"""The scenes of the conformance set: each a source text, and the numbers that it shows.

Numbers are in world space, in metres, right-handed, y up. Between two frames points move along lines, except
where faces change: there the earlier frame is shown.
"""
import math
import usda
from usda import FPS, lerp, seconds

FRAMES = 13
TOLERANCE = '0.1mm'
# The largest distance from the source in metres: the tolerance, and the rounding of a player.
REACH = 0.00012


def scene(name, about, stage, moments, options=(), **more):
    """Returns a scene of USD: `moments` maps frame numbers to what is shown there."""
    shown = [{'seconds': seconds(frame), **moments(frame)} for frame in more.pop('frames', (0, 5, 7.5, FRAMES - 1))]
    expected = {'file': f'{name}.reel', 'about': about, 'tolerance': REACH, **more, 'moments': shown}
    return {'source': f'{name}.usda', 'text': stage, 'expected': expected,
            'options': ['--tolerance', TOLERANCE, '--between', 'off', *options]}


def node(path, points, faces=None, visible=True, **more):
    """Returns what a node shows: its points, and of its faces the number of triangles and, if closed, the volume."""
    shown = {'path': path, 'visible': visible}
    if not visible:
        return shown
    shown['points'] = [list(point) for point in points]
    if faces is not None:
        shown['triangles'] = sum(len(face) - 2 for face in faces)
        shown['volume'] = usda.volume(points, faces)
    return {**shown, **more}


# The lettered cube.

LETTERS = {
    '+': ('.....', '..#..', '..#..', '#####', '..#..', '..#..', '.....'),
    '-': ('.....', '.....', '.....', '#####', '.....', '.....', '.....'),
    'X': ('#...#', '#...#', '.#.#.', '..#..', '.#.#.', '#...#', '#...#'),
    'Y': ('#...#', '#...#', '.#.#.', '..#..', '..#..', '..#..', '..#..'),
    'Z': ('#####', '....#', '...#.', '..#..', '.#...', '#....', '#####'),
}
# The outward normal of each side, and what is up on it for who reads its letters from outside.
SIDES = (
    ('+X', (1, 0, 0), (0, 1, 0), (0.9, 0.1, 0.1)), ('-X', (-1, 0, 0), (0, 1, 0), (0.9, 0.1, 0.1)),
    ('+Y', (0, 1, 0), (0, 0, -1), (0.1, 0.8, 0.1)), ('-Y', (0, -1, 0), (0, 0, 1), (0.1, 0.8, 0.1)),
    ('+Z', (0, 0, 1), (0, 1, 0), (0.2, 0.3, 1.0)), ('-Z', (0, 0, -1), (0, 1, 0), (0.2, 0.3, 1.0)),
)


def strokes(text):
    """Returns the rectangles of a text within the unit square, as left, bottom, right, top; y up."""
    wide = 6 * len(text) - 1
    out = []
    for row in range(7):
        line = '.'.join(LETTERS[letter][row] for letter in text) + '.'
        start = None
        for column, mark in enumerate(line):
            if mark == '#' and start is None:
                start = column
            elif mark != '#' and start is not None:
                left, right = (0.15 + 0.7 * x / wide for x in (start, column))
                bottom, top = (0.25 + 0.5 * (7 - y) / 7 for y in (row + 1, row))
                out.append((left, bottom, right, top))
                start = None
    return out


def cube():
    """A cube of two metres whose sides are named by letters: static, with normals, uvs, colours and two materials."""
    points, faces, normals, uvs, colours, letters = [], [], [], [], [], []
    for text, normal, up, colour in SIDES:
        right = usda.cross(up, normal)
        squares = [((0, 0, 1, 1), 1.0, (0.8, 0.8, 0.8))] + [(s, 1.01, colour) for s in strokes(text)]
        for (left, bottom, wide, top), height, tint in squares:
            if height > 1:
                letters.append(len(faces))
            faces.append([len(points) + i for i in range(4)])
            for u, v in ((left, bottom), (wide, bottom), (wide, top), (left, top)):
                points.append([n * height + r * (2 * u - 1) + p * (2 * v - 1) for n, r, p in zip(normal, right, up)])
                normals.append(normal)
                uvs.append((u, v))
                colours.append(tint)
    mesh = usda.mesh('cube', [points], faces, normals=normals, uvs=uvs, colours=colours,
                     subsets={'letters': letters}, translate=[(0, 1, 0)])
    world = [[x, y + 1, z] for x, y, z in points]
    corners = range(0, len(points), 3)

    def moments(_frame):
        shown = node('/cube', [world[i] for i in corners], normals=[normals[i] for i in corners],
                     uvs=[uvs[i] for i in corners], colours=[colours[i] for i in corners],
                     materials={'letters': 2 * len(letters)})
        return {'nodes': [{**shown, 'triangles': 2 * len(faces)}]}
    return scene('cube', 'a cube whose sides are named by the axis that they face', usda.stage(mesh), moments,
                 frames=[0])


# Methods.

def sheet(side, size):
    """Returns the rest points of a square sheet and its faces, seen from above."""
    points = [(size * (i / side - 0.5), 0, size * (k / side - 0.5)) for k in range(side + 1) for i in range(side + 1)]
    def corner(i, k):
        return k * (side + 1) + i
    faces = [[corner(i, k), corner(i, k + 1), corner(i + 1, k + 1), corner(i + 1, k)]
             for k in range(side) for i in range(side)]
    return points, faces


def waves(points, frame):
    return [(x, 0.15 * math.sin(3 * x + 0.5 * frame) * math.cos(2 * z - 0.3 * frame), z) for x, _, z in points]


def some(points, step=5):
    return points[::step]


def soft():
    rest, faces = sheet(12, 2.0)
    positions = [waves(rest, f) for f in range(FRAMES)]
    uvs = [(x / 2 + 0.5, 0.5 - z / 2) for x, _, z in rest]
    mesh = usda.mesh('sheet', positions, faces, uvs=uvs)

    def moments(frame):
        points = lerp(positions, frame)
        shown = node('/sheet', some(points), uvs=some(uvs))
        return {'nodes': [{**shown, 'triangles': 2 * len(faces)}]}
    return scene('soft', 'a sheet in waves; between frames points move along lines', usda.stage(mesh), moments,
                 ('--method', 'soft'))


def box(centre, half, turn=0.0):
    """Returns the corners of a box, turned about z, and its faces."""
    c, s = math.cos(turn), math.sin(turn)
    local = [(x * half, y * half, z * half) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]
    points = [(centre[0] + c * x - s * y, centre[1] + s * x + c * y, centre[2] + z) for x, y, z in local]
    return points, [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]


def boxes(placed):
    points, faces = [], []
    for centre, half, turn in placed:
        own, sides = box(centre, half, turn)
        faces += [[len(points) + i for i in side] for side in sides]
        points += own
    return points, faces


def rigid():
    def placed(frame):
        return [((0.8 * k - 1.2, 0.3 + 0.05 * k * frame, 0.02 * frame * (k - 1)), 0.3, 0.1 * frame * (k + 1))
                for k in range(4)]
    positions = [boxes(placed(f))[0] for f in range(FRAMES)]
    faces = boxes(placed(0))[1]
    mesh = usda.mesh('wall', positions, faces)
    return scene('rigid', 'four boxes of one mesh, each of which moves rigidly', usda.stage(mesh),
                 lambda frame: {'nodes': [node('/wall', positions[frame], faces)]}, ('--method', 'rigid'),
                 frames=(0, 5, FRAMES - 1))


def tube(frame):
    """Returns the points of a closed tube, bent by two joints, and its faces."""
    around, rings = 8, 13
    points = []
    for k in range(rings):
        y = 2 * k / (rings - 1)
        bend = 0.06 * frame
        # Linear blend skinning of two bones that meet at a height of one metre.
        weight = min(max((y - 0.7) / 0.6, 0), 1)
        for i in range(around):
            a = 2 * math.pi * i / around
            x, z = 0.25 * math.cos(a), 0.25 * math.sin(a)
            bent = (x * math.cos(bend) - (y - 1) * math.sin(bend), 1 + x * math.sin(bend) + (y - 1) * math.cos(bend))
            points.append((x + weight * (bent[0] - x), y + weight * (bent[1] - y), z))
    faces = [[k * around + i, (k + 1) * around + i, (k + 1) * around + (i + 1) % around, k * around + (i + 1) % around]
             for k in range(rings - 1) for i in range(around)]
    faces.append(list(range(around)))
    faces.append([(rings - 1) * around + i for i in reversed(range(around))])
    return points, faces


def skinned():
    positions = [tube(f)[0] for f in range(FRAMES)]
    faces = tube(0)[1]
    mesh = usda.mesh('arm', positions, faces)
    return scene('skinned', 'a tube that bends at its middle', usda.stage(mesh),
                 lambda frame: {'nodes': [node('/arm', positions[frame], faces)]}, ('--method', 'skinned'),
                 frames=(0, 5, FRAMES - 1))


def prism(frame):
    """Returns an upright prism whose number of sides changes from frame to frame."""
    sides = 5 + frame % 4
    height = 1 + 0.05 * frame
    ring = [(math.cos(2 * math.pi * i / sides), -math.sin(2 * math.pi * i / sides)) for i in range(sides)]
    points = [(x, 0, z) for x, z in ring] + [(x, height, z) for x, z in ring]
    faces = [[i, (i + 1) % sides, sides + (i + 1) % sides, sides + i] for i in range(sides)]
    return points, faces + [list(range(sides, 2 * sides)), list(range(sides - 1, -1, -1))]


def fluid():
    each = [prism(f) for f in range(FRAMES)]
    mesh = usda.mesh('prism', [points for points, _ in each], [faces for _, faces in each])
    return scene('fluid', 'a prism whose faces change in every frame; between frames the earlier one is shown',
                 usda.stage(mesh), lambda frame: {'nodes': [node('/prism', *each[int(frame)])]})


def particles():
    """Points that are born and vanish: frame f shows twelve of them, from number f on."""
    def numbers(frame):
        return range(int(frame), int(frame) + 12)
    def cloud(frame):
        return [(math.cos(2.4 * i) * (0.3 + 0.04 * i), 0.05 * i + 0.02 * frame * (i % 3), math.sin(2.4 * i) * 0.5)
                for i in numbers(frame)]
    def widths(frame):
        return [0.02 + 0.002 * i for i in numbers(frame)]
    each = range(FRAMES)
    text = usda.points('drops', [cloud(f) for f in each], [widths(f) for f in each],
                       [[100 + i for i in numbers(f)] for f in each])

    def moments(frame):
        return {'nodes': [{**node('/drops', cloud(frame)), 'widths': widths(frame)}]}
    return scene('particles', 'points with numbers and widths, some of which are born and vanish',
                 usda.stage(text), moments, frames=(0, 5, FRAMES - 1))


def curves():
    def strands(frame):
        return [(0.2 * k + 0.02 * j * math.sin(0.4 * frame + k), 0.15 * j, 0.03 * j * math.cos(0.4 * frame))
                for k in range(6) for j in range(7)]
    positions = [strands(f) for f in range(FRAMES)]
    prim = usda.curves('hair', positions, [7] * 6, width=0.01)
    return scene('curves', 'six strands of seven points',
                 usda.stage(prim), lambda frame: {'nodes': [node('/hair', lerp(positions, frame))]})


# What is not a mesh.

def cameras():
    def eye(frame):
        return (0.1 * frame, 1.5, 4 - 0.05 * frame)
    lenses = [35 + 2 * f for f in range(FRAMES)]
    moved = [eye(f) for f in range(FRAMES)]
    turned = math.radians(30)
    side = (math.cos(turned), 0.0, -math.sin(turned))
    text = usda.camera('shot', moved, lenses) + usda.camera('side', [(0, 1, 3)], [50], turn_y=[30])
    rest, faces = sheet(2, 1.0)

    def moments(frame):
        first = {'path': '/shot', 'eye': lerp_point(moved, frame),
                 'forward': (0, 0, -1), 'up': (0, 1, 0), 'right': (1, 0, 0), 'focal_length': lerp_number(lenses, frame)}
        second = {'path': '/side', 'eye': (0, 1, 3), 'forward': (-math.sin(turned), 0, -math.cos(turned)),
                  'up': (0, 1, 0), 'right': side, 'focal_length': 50}
        return {'nodes': [{**node('/floor', rest), 'triangles': 2 * len(faces)}], 'cameras': [first, second]}
    return scene('cameras', 'a camera that moves and zooms, and one that is turned', usda.stage(
        text, usda.mesh('floor', [rest], faces)), moments)


def lerp_point(points, frame):
    return lerp([[p] for p in points], frame)[0]


def lerp_number(numbers, frame):
    return lerp_point([(n,) for n in numbers], frame)[0]


def levels():
    rest, faces = sheet(24, 2.0)
    positions = [waves(rest, f) for f in range(FRAMES)]
    mesh = usda.mesh('sheet', positions, faces)

    def moments(frame):
        shown = node('/sheet', some(positions[frame], 50), levels=3)
        return {'nodes': [{**shown, 'triangles': 2 * len(faces)}]}
    return scene('levels', 'a sheet with two levels of detail beside itself', usda.stage(mesh), moments,
                 ('--lod', '2'), frames=(0, 5, FRAMES - 1))


def hidden():
    points, faces = box((0, 0.5, 0), 0.5)
    beside = [(x + 2, y, z) for x, y, z in points]
    behind = [(x, y, z - 2) for x, y, z in points]
    text = (usda.mesh('always', [points], faces)
            + usda.mesh('later', [beside], faces, visible=[f >= 6 for f in range(FRAMES)])
            + usda.group('parent', usda.mesh('inherits', [behind], faces), visible=[f < 6 for f in range(FRAMES)]))

    def moments(frame):
        return {'nodes': [node('/always', points, faces), node('/later', beside, faces, frame >= 6),
                          node('/parent/inherits', behind, faces, frame < 6)]}
    return scene('hidden', 'a box that is shown later, and one that its parent hides', usda.stage(text), moments,
                 frames=(0, 5, 7, FRAMES - 1))


def end_states():
    frames = 73
    rest, faces = sheet(12, 2.0)
    def moved(frame):
        return waves(rest, min(max(frame - 24, 0), 24))
    mesh = usda.mesh('sheet', [moved(f) for f in range(frames)], faces)

    def moments(frame):
        return {'nodes': [{**node('/sheet', some(moved(frame))), 'triangles': 2 * len(faces)}]}
    return scene('end_states', 'a sheet that stands before frame 24 and after frame 48', usda.stage(mesh, frames=frames),
                 moments, frames=(0, 24, 30, 48, frames - 1))


def hierarchy():
    points, faces = box((0, 0, 0), 0.5)
    rises = [(0.04 * f, 0.1 * f, -0.02 * f) for f in range(FRAMES)]
    turns = [60 + 5.0 * f for f in range(FRAMES)]
    inner = usda.mesh('box', [[[100 * c for c in p] for p in points]], faces, translate=[(200, 0, 0)])
    turned = usda.group('turn', inner, turn_y=turns)
    text = usda.group('lift', turned, translate=[[100 * c for c in rise] for rise in rises])

    def moments(frame):
        turn = usda.turn(1, lerp_number(turns, frame))
        rise = lerp_point(rises, frame)
        world = [usda.add(rise, usda.apply(turn, (x + 2, y, z))) for x, y, z in points]
        return {'nodes': [node('/lift/turn/box', world, faces)]}
    return scene('hierarchy', 'a box below a node that turns and one that rises, in centimetres',
                 usda.stage(text, metres=0.01), moments, frames=(0, 5, FRAMES - 1))


def clip():
    """Four joints of a motion capture in centimetres."""
    offsets = [(0, 100, 0), (0, 40, 0), (30, 0, 0), (0, 0, 20)]
    names = ['hips', 'spine', 'arm', 'hand']
    def angles(frame):
        return [(0.0, 3.0 * frame, 0.0), (2.0 * frame, 0.0, 0.0), (0.0, 0.0, 4.0 * frame), (0.0, -5.0 * frame, 0.0)]
    def root(frame):
        return (2.0 * frame, 100.0, -frame)
    lines = ['HIERARCHY']
    for depth, (name, offset) in enumerate(zip(names, offsets)):
        pad = '  ' * depth
        channels = '6 Xposition Yposition Zposition ' if depth == 0 else '3 '
        lines += [f'{pad}{"ROOT" if depth == 0 else "JOINT"} {name}', pad + '{',
                  f'{pad}  OFFSET {offset[0]} {offset[1]} {offset[2]}',
                  f'{pad}  CHANNELS {channels}Zrotation Xrotation Yrotation']
    lines += ['        End Site', '        {', '          OFFSET 0 0 10', '        }']
    lines += ['  ' * depth + '}' for depth in reversed(range(4))]
    lines += ['MOTION', f'Frames: {FRAMES}', f'Frame Time: {1 / FPS:.9f}']
    for frame in range(FRAMES):
        values = [*root(frame)]
        for x, y, z in angles(frame):
            values += [z, x, y]
        lines.append(' '.join(f'{v:g}' for v in values))

    def moments(frame):
        turn, place, joints = usda.IDENTITY, root(frame), []
        for depth, (name, (x, y, z)) in enumerate(zip(names, angles(frame))):
            if depth > 0:
                place = usda.add(place, usda.apply(turn, offsets[depth]))
            turn = usda.product(turn, usda.product(usda.turn(2, z), usda.product(usda.turn(0, x), usda.turn(1, y))))
            joints.append({'name': name, 'position': [0.01 * c for c in place],
                           'x': usda.apply(turn, (1, 0, 0)), 'y': usda.apply(turn, (0, 1, 0))})
        return {'joints': joints}
    made = scene('clip', 'four joints, turned about three axes in the order z, x, y', '', moments,
                 frames=(0, 5, FRAMES - 1))
    made['source'] = 'clip.bvh'
    made['text'] = '\n'.join(lines) + '\n'
    made['options'] = ['--unit', 'cm']
    # A tenth of a millimetre at a distance of three centimetres, on four joints after one another.
    made['expected']['tolerance'] = 0.002
    return made


def all_scenes():
    return [make() for make in (cube, soft, rigid, skinned, fluid, particles, curves, cameras, levels, hidden,
                                end_states, hierarchy, clip)]
