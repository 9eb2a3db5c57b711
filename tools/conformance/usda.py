"""Writes text of USD, and does the arithmetic of the conformance set: vectors are tuples, matrices three rows."""
import math

FPS = 24
IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def seconds(frame):
    return frame / FPS


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a, b):
    return tuple(x + y for x, y in zip(a, b))


def apply(matrix, vector):
    return tuple(sum(m * v for m, v in zip(row, vector)) for row in matrix)


def product(a, b):
    columns = list(zip(*b))
    return tuple(tuple(sum(x * y for x, y in zip(row, column)) for column in columns) for row in a)


def turn(axis, degrees):
    """Returns a rotation about an axis, counter-clockwise seen from its end."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return (((1, 0, 0), (0, c, -s), (0, s, c)), ((c, 0, s), (0, 1, 0), (-s, 0, c)),
            ((c, -s, 0), (s, c, 0), (0, 0, 1)))[axis]


def lerp(each, frame):
    """Returns the points of a time between two frames."""
    first = int(frame)
    blend = frame - first
    if blend == 0:
        return each[first]
    return [[a + blend * (b - a) for a, b in zip(p, q)] for p, q in zip(each[first], each[first + 1])]


def volume(points, faces):
    """Returns the signed volume inside closed faces: positive if they are counter-clockwise seen from outside."""
    total = 0.0
    for face in faces:
        for b, c in zip(face[1:], face[2:]):
            total += sum(x * y for x, y in zip(points[face[0]], cross(points[b], points[c])))
    return total / 6


# Text.

def tuples(values):
    return '[' + ', '.join('(' + ', '.join(f'{c:.9g}' for c in value) + ')' for value in values) + ']'


def numbers(values):
    return '[' + ', '.join(f'{v:.9g}' for v in values) + ']'


def animated(name, each, form):
    """Returns an attribute: one value, or a sample for each frame."""
    if len(each) == 1:
        return f'{name} = {form(each[0])}\n'
    samples = ''.join(f'{frame}: {form(value)},\n' for frame, value in enumerate(each))
    return f'{name}.timeSamples = {{\n{samples}}}\n'


def transform(translate=None, turn_y=None):
    """Returns the transform of a prim: a translation, then a turn about y. Each is one value, or one for each frame."""
    order, text = [], ''
    if translate is not None:
        order.append('"xformOp:translate"')
        text += animated('double3 xformOp:translate', translate, lambda v: tuples([v])[1:-1])
    if turn_y is not None:
        order.append('"xformOp:rotateY"')
        text += animated('float xformOp:rotateY', turn_y, str)
    return text + (f'uniform token[] xformOpOrder = [{", ".join(order)}]\n' if order else '')


def visibility(visible):
    if visible is None:
        return ''
    return animated('token visibility', visible, lambda v: '"inherited"' if v else '"invisible"')


def mesh(name, positions, faces, normals=None, uvs=None, colours=None, subsets=None, visible=None, translate=None):
    """Returns a mesh. `faces` is one list of faces, or one for each frame; values stand at points."""
    each = faces if isinstance(faces[0][0], list) else [faces]
    text = animated('point3f[] points', positions, tuples)
    text += animated('int[] faceVertexCounts', [[len(f) for f in frame] for frame in each], numbers)
    text += animated('int[] faceVertexIndices', [[i for f in frame for i in f] for frame in each], numbers)
    text += 'uniform token subdivisionScheme = "none"\n' + transform(translate) + visibility(visible)
    at_points = ' (interpolation = "vertex")\n'
    if normals is not None:
        text += f'normal3f[] primvars:normals = {tuples(normals)}' + at_points
    if uvs is not None:
        text += f'texCoord2f[] primvars:st = {tuples(uvs)}' + at_points
    if colours is not None:
        text += f'color3f[] primvars:displayColor = {tuples(colours)}' + at_points
    for subset, members in (subsets or {}).items():
        text += (f'def GeomSubset "{subset}" {{\nuniform token elementType = "face"\n'
                 f'uniform token familyName = "materialBind"\nint[] indices = {numbers(members)}\n}}\n')
    return f'def Mesh "{name}" {{\n{text}}}\n'


def points(name, positions, widths, ids):
    text = animated('point3f[] points', positions, tuples)
    text += animated('float[] widths', widths, numbers) + animated('int64[] ids', ids, numbers)
    return f'def Points "{name}" {{\n{text}}}\n'


def curves(name, positions, counts, width):
    text = animated('point3f[] points', positions, tuples)
    text += f'int[] curveVertexCounts = {numbers(counts)}\nfloat[] widths = [{width}] (interpolation = "constant")\n'
    return f'def BasisCurves "{name}" {{\nuniform token type = "linear"\n{text}}}\n'


def camera(name, eyes, lenses, turn_y=None):
    text = transform(eyes, turn_y) + animated('float focalLength', lenses, str)
    return (f'def Camera "{name}" {{\n{text}float horizontalAperture = 36\nfloat verticalAperture = 24\n'
            'float2 clippingRange = (0.1, 100)\n}\n')


def group(name, children, visible=None, translate=None, turn_y=None):
    return f'def Xform "{name}" {{\n{transform(translate, turn_y)}{visibility(visible)}{children}}}\n'


def stage(*prims, metres=1.0, frames=13):
    """Returns a whole file."""
    end = f'startTimeCode = 0\nendTimeCode = {frames - 1}\n'
    return (f'#usda 1.0\n(\nmetersPerUnit = {metres:g}\nupAxis = "Y"\ntimeCodesPerSecond = {FPS}\n'
            f'framesPerSecond = {FPS}\n{end})\n{"".join(prims)}')
