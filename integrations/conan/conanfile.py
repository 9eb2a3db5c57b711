"""Installs the library from an archive of the release, whose checksums are in conandata.yml."""

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get

#: Targets of the archives: system, then processor. On iOS the simulator has its own.
TARGETS = {
    ("Linux", "x86_64"): "x86_64-unknown-linux-gnu",
    ("Linux", "armv8"): "aarch64-unknown-linux-gnu",
    ("Windows", "x86_64"): "x86_64-pc-windows-msvc",
    ("Windows", "armv8"): "aarch64-pc-windows-msvc",
    ("Macos", "x86_64"): "x86_64-apple-darwin",
    ("Macos", "armv8"): "aarch64-apple-darwin",
    ("Android", "armv8"): "aarch64-linux-android",
    ("Android", "armv7"): "armv7-linux-androideabi",
    ("Android", "x86_64"): "x86_64-linux-android",
    ("iOS", "armv8"): "aarch64-apple-ios",
}

#: The system's libraries that the static library needs.
SYSTEM_LIBRARIES = {
    "Linux": ["pthread", "m", "dl"],
    "Windows": ["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"],
    "Macos": ["m"],
    "iOS": ["m"],
    "Android": ["log", "unwind", "dl", "m"],
}


class Meshreel(ConanFile):
    name = "meshreel"
    version = "0.1.0"
    description = "Plays .reel files: compressed animation of meshes and skeletons"
    license = ("MIT", "Apache-2.0")
    url = homepage = "https://github.com/meshreel/meshreel"
    topics = ("animation", "compression", "game-development")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    @property
    def _target(self):
        target = TARGETS.get((str(self.settings.os), str(self.settings.arch)))
        simulator = self.settings.get_safe("os.sdk") == "iphonesimulator"
        return f"{target}-sim" if simulator else target

    def config_options(self):
        if self.settings.os == "iOS":
            self.options.rm_safe("shared")
            self.package_type = "static-library"

    def validate(self):
        if not self.conan_data:
            raise ConanInvalidConfiguration(
                "conandata.yml is missing: take the recipe from meshreel-recipes.tar.gz of a release, or run "
                "tools/release/recipes.sh over the archives of the library"
            )
        if self._target not in self.conan_data["sources"][self.version]:
            raise ConanInvalidConfiguration(
                f"meshreel {self.version} has no library for {self.settings.os} on {self.settings.arch}"
            )

    def package_id(self):
        # One library serves all compilers and kinds of builds: its interface is C.
        del self.info.settings.compiler
        del self.info.settings.build_type

    def build(self):
        get(self, **self.conan_data["sources"][self.version][self._target], strip_root=True)

    def package(self):
        copy(self, "LICENSE-*", self.build_folder, f"{self.package_folder}/licenses")
        copy(self, "include/*", self.build_folder, self.package_folder)
        shared = ["lib/*.so*", "lib/*.dylib", "lib/*.dll.lib", "bin/*.dll"]
        for pattern in shared if self.options.get_safe("shared") else ["lib/*.a", "lib/meshreel_c.lib"]:
            copy(self, pattern, self.build_folder, self.package_folder)

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "meshreel::meshreel")
        self.cpp_info.set_property("pkg_config_name", "meshreel")
        if self.options.get_safe("shared"):
            self.cpp_info.libs = ["meshreel_c.dll" if self.settings.os == "Windows" else "meshreel_c"]
        else:
            self.cpp_info.libs = ["meshreel_c"]
            self.cpp_info.system_libs = SYSTEM_LIBRARIES[str(self.settings.os)]
