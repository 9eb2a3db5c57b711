#!/usr/bin/env python3
"""Compares what a player shows of the conformance set with the numbers of its sources.

    tools/conformance/check.py SHOWN.json [FOLDER]

SHOWN.json is written by a player; testdata/conformance/README.md says how. Prints each difference, and fails if
there are any.
"""
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The largest differences: of directions as the cosine of an angle, of uvs, of colours, of lengths as a ratio.
COSINE, UV, COLOUR, RATIO = math.cos(math.radians(1.1)), 1 / 4000, 1 / 250, 0.005


def main():
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / 'testdata/conformance')
    shown = json.loads(pathlib.Path(sys.argv[1]).read_text())
    engine = json.loads((folder / 'engines.json').read_text())[shown['engine']]
    expected = json.loads((folder / 'expected.json').read_text())
    leaves_out = set(engine.get('leaves_out', []))
    wrong, moments = [], 0
    for file in expected['files']:
        name = file['file']
        if name in leaves_out:
            continue
        if name not in shown['files']:
            wrong.append(f'{name}: not shown')
            continue
        check = Check(file, engine, shown['files'][name]['metres'])
        pairs = zip(file['moments'], shown['files'][name]['moments'])
        for told, seen in pairs:
            moments += 1
            if not math.isclose(told['seconds'], seen['seconds'], abs_tol=1e-6):
                wrong.append(f'{name}: shown at {seen["seconds"]} s, not {told["seconds"]} s')
            wrong += [f'{name}, {told["seconds"]:.4f} s: {what}' for what in check.moment(told, seen)]
        if len(shown['files'][name]['moments']) != len(file['moments']):
            wrong.append(f'{name}: {len(shown["files"][name]["moments"])} moments of {len(file["moments"])}')
    for line in wrong:
        print(line)
    print(f'{shown["engine"]}: {moments} moments, {len(wrong)} differences')
    sys.exit(1 if wrong or moments == 0 else 0)


class Check:
    """The comparison of one file in the space of an engine."""

    def __init__(self, file, engine, metres):
        self.reach = file['tolerance']
        self.metres = metres
        # Where x, y and z of a file point in the engine: columns, orthonormal.
        self.axes = engine['axes']
        self.mirrored = dot(cross(self.axes[0], self.axes[1]), self.axes[2]) < 0
        self.inward = engine['cross_of_front_faces'] == 'inward'
        self.v_down = engine['v'] == 'down'
        self.attributes = engine.get('attributes', ['normals', 'uvs', 'colours', 'widths', 'materials', 'levels'])
        self.lenses = engine.get('lenses', True)

    def direction(self, vector):
        """Returns a direction of the engine in the file's axes."""
        return [dot(axis, vector) for axis in self.axes]

    def point(self, world, point):
        moved = [dot(world[4 * row:4 * row + 3], point) + world[4 * row + 3] for row in range(3)]
        return [self.metres * c for c in self.direction(moved)]

    def moment(self, told, seen):
        nodes = {node['path']: node for node in seen.get('nodes', [])}
        for node in told.get('nodes', []):
            own = nodes.get(node['path'])
            if own is None or not own['visible']:
                if node['visible']:
                    yield f'{node["path"]} is not shown'
            elif not node['visible']:
                yield f'{node["path"]} is shown'
            else:
                for what in self.node(node, own):
                    yield f'{node["path"]}: {what}'
        yield from self.cameras(told.get('cameras', []), seen)
        yield from self.joints(told.get('joints', []), seen)

    def node(self, told, seen):
        positions = [self.point(seen['world'], p) for p in tuples(seen['positions'], 3)]
        values = self.values(seen)
        for i, point in enumerate(told['points']):
            near = [v for v, p in enumerate(positions) if distance(p, point) <= self.reach]
            if not near:
                best = min((distance(p, point) for p in positions), default=math.inf)
                yield f'point {i} is {best:.6f} m from the nearest vertex'
                continue
            for name, same in (('normals', same_direction), ('uvs', within(UV)), ('colours', within(COLOUR)),
                               ('widths', within(self.reach))):
                if name not in told or name not in self.attributes:
                    continue
                if name not in values:
                    yield f'it has no {name}'
                elif not any(same(values[name][v], told[name][i]) for v in near):
                    yield f'point {i}: {name[:-1]} {values[name][near[0]]}, not {told[name][i]}'
        if 'triangles' not in told:
            if len(positions) != len(told['points']):
                yield f'{len(positions)} points, not {len(told["points"])}'
            return
        yield from self.triangles(told, seen, positions, values)

    def values(self, seen):
        """Returns the attributes of a node's vertices in the file's axes."""
        turn = self.turn(seen['world'])
        out = {}
        if seen.get('normals'):
            out['normals'] = [turn(n) for n in tuples(seen['normals'], 3)]
        if seen.get('uvs'):
            out['uvs'] = [(u, 1 - v if self.v_down else v) for u, v in tuples(seen['uvs'], 2)]
        if seen.get('colours'):
            out['colours'] = [c[:3] for c in tuples(seen['colours'], 4)]
        if seen.get('widths'):
            out['widths'] = [self.metres * w for w in seen['widths']]
        return out

    def turn(self, world):
        """Returns a function that turns normals as a world transform does: rotations, and scales equal on all axes."""
        def turned(normal):
            moved = [dot(world[4 * row:4 * row + 3], normal) for row in range(3)]
            length = math.sqrt(dot(moved, moved)) or 1.0
            return [c / length for c in self.direction(moved)]
        return turned

    def triangles(self, told, seen, positions, values):
        triangles = tuples(seen['indices'], 3)
        # Counter-clockwise in the file's axes. An engine turns triangles of mirrored objects by itself.
        rows = [seen['world'][4 * row:4 * row + 3] for row in range(3)]
        if self.inward ^ self.mirrored ^ (dot(cross(rows[0], rows[1]), rows[2]) < 0):
            triangles = [(a, c, b) for a, b, c in triangles]
        if len(triangles) != told['triangles']:
            yield f'{len(triangles)} triangles, not {told["triangles"]}'
        if 'volume' in told:
            volume = sum(dot(positions[a], cross(positions[b], positions[c])) for a, b, c in triangles) / 6
            if not math.isclose(volume, told['volume'], rel_tol=RATIO):
                yield f'a volume of {volume:.6f} m³, not {told["volume"]:.6f}: triangles are turned or missing'
        if 'normals' in values and 'normals' in self.attributes:
            against = sum(any(dot(values['normals'][v], facing(positions, t)) < 0 for v in t) for t in triangles)
            if against > 0:
                yield f'{against} triangles face against their normals'
        if 'materials' in self.attributes:
            named = {material['name']: material['count'] // 3 for material in seen.get('materials', [])}
            for name, count in told.get('materials', {}).items():
                if named.get(name) != count:
                    yield f'material {name} has {named.get(name)} triangles, not {count}'
        if 'levels' in told and 'levels' in self.attributes:
            levels = seen.get('levels', [])
            halves = all(0.3 * a <= b <= 0.6 * a for a, b in zip(levels, levels[1:]))
            if len(levels) != told['levels'] or levels[0] != told['triangles'] or not halves:
                yield f'levels of {levels} triangles'

    def cameras(self, told, seen):
        cameras = {camera['path']: camera for camera in seen.get('cameras', [])}
        for camera in told:
            own = cameras.get(camera['path'])
            if own is None:
                yield f'camera {camera["path"]} is not shown'
                continue
            eye = [self.metres * c for c in self.direction(own['eye'])]
            if distance(eye, camera['eye']) > self.reach:
                yield f'camera {camera["path"]} is at {eye}, not {camera["eye"]}'
            for name in ('forward', 'up', 'right'):
                if not same_direction(self.direction(own[name]), camera[name]):
                    yield f'camera {camera["path"]}: {name} is {self.direction(own[name])}, not {camera[name]}'
            if self.lenses and not math.isclose(own['focal_length'], camera['focal_length'], rel_tol=RATIO):
                yield f'camera {camera["path"]}: a lens of {own["focal_length"]} mm, not {camera["focal_length"]}'

    def joints(self, told, seen):
        joints = {joint['name']: joint for joint in seen.get('joints', [])}
        for joint in told:
            own = joints.get(joint['name'])
            if own is None:
                yield f'joint {joint["name"]} is not shown'
                continue
            place = [self.metres * c for c in self.direction(own['position'])]
            if distance(place, joint['position']) > self.reach:
                yield f'joint {joint["name"]} is at {place}, not {joint["position"]}'
            # An axis of the joint in the file is that axis of the joint in the engine, with the axes renamed.
            for number, name in enumerate('xy'):
                turned = own['axes'][3 * number:3 * number + 3]
                if not same_direction(self.direction(turned), joint[name]):
                    yield f'joint {joint["name"]}: its {name} is {self.direction(turned)}, not {joint[name]}'


def tuples(values, size):
    return [values[i:i + size] for i in range(0, len(values), size)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def distance(a, b):
    return math.dist(a, b)


def facing(positions, triangle):
    a, b, c = (positions[v] for v in triangle)
    return cross([x - y for x, y in zip(b, a)], [x - y for x, y in zip(c, a)])


def same_direction(a, b):
    return dot(a, b) >= COSINE * math.sqrt(dot(a, a) * dot(b, b))


def within(most):
    def same(a, b):
        a, b = ((x,) if isinstance(x, (int, float)) else x for x in (a, b))
        return all(abs(x - y) <= most for x, y in zip(a, b))
    return same


if __name__ == '__main__':
    main()
