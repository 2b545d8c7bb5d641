"""Two dumps of the Java heap of an app whose cache grows, for the page about finding a leak; make_fixtures.py writes it.

The cache is a static field. It keeps bitmaps, and the listeners that screens left there when they were closed. R8 made the
app's names short, and a mapping has the long ones.
"""

PID, SEQUENCE = 4321, 1
APP = "/data/app/~~Zm9v==/com.example.photos-YmFy==/base.apk"
BOOT = "/system/framework/framework.jar"
# Names, sizes of objects, their fields, and their locations.
CLASSES = {
    "java.lang.Object": (8, [], BOOT),
    "java.lang.Class<a.b>": (120, [], APP),
    "a.b": (24, ["java.util.ArrayList a.b.a", "java.util.ArrayList a.b.c"], APP),
    "a.d": (320, ["a.e a.d.a"], APP),
    "a.e": (96, ["android.graphics.Bitmap a.e.a"], APP),
    "java.util.ArrayList": (24, ["java.lang.Object[] java.util.ArrayList.elementData"], BOOT),
    "java.lang.Object[]": (0, [], BOOT),
    "android.graphics.Bitmap": (48, ["byte[] android.graphics.Bitmap.mBuffer"], BOOT),
    "byte[]": (0, [], BOOT),
    "java.lang.Thread": (160, ["a.d java.lang.Thread.target"], BOOT),
    "java.lang.String": (32, [], BOOT),
}
KINDS = {"java.lang.Object[]": 4, "byte[]": 4, "java.lang.String": 3}
MAPPING = {
    "a.b": ("com.example.photos.ImageCache", {"a": "bitmaps", "c": "listeners", "b": "instance"}),
    "a.d": ("com.example.photos.GalleryActivity", {"a": "view"}),
    "a.e": ("com.example.photos.PhotoView", {"a": "shown"}),
}
INSTANCE = "a.b a.b.b"
STICKY_CLASS, THREAD_OBJECT, INTERNED_STRING = 5, 8, 9


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def packed(field, values):
    return data(field, b"".join(map(varint, values)))


class Heap:
    def __init__(self):
        names = list(CLASSES)
        fields = [field for _, fields, _ in CLASSES.values() for field in fields] + [INSTANCE]
        self.types = {name: iid for iid, name in enumerate(names, 1)}
        self.fields = {field: iid for iid, field in enumerate(fields, 1)}
        self.objects, self.roots = [], []

    def add(self, name, references=(), size=0, fields=()):
        """An object; its number is that of its address."""
        at = 0x12C00000 + 8 * len(self.objects)
        named = packed(4, [self.fields[field] for field in fields]) if fields else b""
        refers = packed(5, references) if references else b""
        sized = number(3, size) if size else b""
        self.objects.append(number(1, at) + number(2, self.types[name]) + sized + named + refers)
        return at

    def graph(self):
        locations = [APP, BOOT]
        graph = number(1, PID) + b"".join(data(2, made) for made in self.objects)
        for name, (size, fields, location) in CLASSES.items():
            of = number(1, self.types[name]) + number(2, locations.index(location) + 1) + data(3, name)
            of += number(4, size) + packed(6, [self.fields[field] for field in fields]) + number(7, KINDS.get(name, 1))
            graph += data(9, of)
        graph += b"".join(data(4, number(1, iid) + data(2, field)) for field, iid in self.fields.items())
        graph += b"".join(data(8, number(1, iid) + data(2, path)) for iid, path in enumerate(locations, 1))
        graph += b"".join(data(7, packed(1, objects) + number(2, kind)) for kind, objects in self.roots)
        return graph


def dump(bitmaps, closed):
    heap = Heap()

    def listed(elements):
        array = heap.add("java.lang.Object[]", elements, 16 + 4 * len(elements))
        return heap.add("java.util.ArrayList", [array])

    def bitmap(size):
        return heap.add("android.graphics.Bitmap", [heap.add("byte[]", size=size)])

    def screen():
        return heap.add("a.d", [heap.add("a.e", [bitmap(2_000)])])

    cached = listed([bitmap(40_000) for _ in range(bitmaps)])
    left = listed([screen() for _ in range(closed)])
    cache = heap.add("a.b", [cached, left])
    holder = heap.add("java.lang.Class<a.b>", [cache], 120, [INSTANCE])
    thread = heap.add("java.lang.Thread", [screen()])
    strings = [heap.add("java.lang.String", size=40) for _ in range(30)]
    heap.add("java.lang.Object")
    heap.roots = [(STICKY_CLASS, [holder]), (THREAD_OBJECT, [thread]), (INTERNED_STRING, strings)]
    return heap.graph()


def mapping():
    out = data(1, "com.example.photos")
    for short, (name, members) in MAPPING.items():
        of = data(1, short) + data(2, name)
        of += b"".join(data(3, data(1, member) + data(2, long)) for member, long in members.items())
        out += data(3, of)
    return out


def packet(timestamp, field, payload):
    return data(1, number(8, timestamp) + number(10, SEQUENCE) + data(field, payload))


def leak():
    tree = data(2, data(1, number(1, PID) + number(2, 1) + data(3, "com.example.photos")))
    start = 5_000_000_000
    process = data(1, number(8, start) + number(10, SEQUENCE) + tree)
    dumps = packet(start, 56, dump(12, 1)) + packet(start + 60_000_000_000, 56, dump(45, 6))
    return process + dumps + packet(start + 60_000_000_000, 64, mapping())
