//! How what vifo needs is installed on the system that it runs on, for errors and `vifo doctor`.

use crate::base::fs;

/// A system, as far as it decides how a package is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Windows,
    Mac,
    /// Debian, Ubuntu and what else has apt-get.
    Debian,
    Fedora,
    Arch,
    Other,
}

/// What is to be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The Vulkan, Metal or DX12 driver of a card.
    Driver,
    /// An adapter that runs shaders on the CPU.
    Software,
    /// The Vulkan part of NVIDIA's driver, where the card itself is there.
    NvidiaVulkan,
    /// What a window is opened with.
    X11,
    /// The program that opens files with what the desktop has for them.
    Opener,
    /// The program that asks for a file.
    Dialogs,
    /// The program that reads cameras.
    Ffmpeg,
}

impl System {
    pub fn here() -> System {
        if cfg!(windows) {
            return System::Windows;
        }
        if cfg!(target_os = "macos") {
            return System::Mac;
        }
        fs::read_to_string("/etc/os-release").map_or(System::Other, |text| System::of_os_release(&text))
    }

    /// By the keys ID and ID_LIKE.
    fn of_os_release(text: &str) -> System {
        let value = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default().replace('"', "");
        let names = format!("{} {}", value("ID="), value("ID_LIKE="));
        let has = |name: &str| names.split_whitespace().any(|n| n == name);
        match () {
            () if has("debian") || has("ubuntu") => System::Debian,
            () if has("fedora") || has("rhel") => System::Fedora,
            () if has("arch") => System::Arch,
            () => System::Other,
        }
    }

    /// What to do about it, without a full stop: "apt-get install mesa-vulkan-drivers libvulkan1".
    pub fn how(self, need: Need) -> &'static str {
        match (need, self) {
            (Need::Driver, System::Windows) => "install the driver of the card's maker (NVIDIA, AMD, Intel)",
            (Need::Driver, System::Mac) => "update macOS, which brings the driver",
            (Need::Driver, System::Debian) => {
                "apt-get install nvidia-driver nvidia-vulkan-icd (NVIDIA) or mesa-vulkan-drivers (AMD, Intel)"
            }
            (Need::Driver, System::Fedora) => {
                "dnf install akmod-nvidia (NVIDIA, from RPM Fusion) or mesa-vulkan-drivers (AMD, Intel)"
            }
            (Need::Driver, System::Arch) => "pacman -S nvidia-utils (NVIDIA), vulkan-radeon (AMD) or vulkan-intel",
            (Need::Driver, System::Other) => "install the card's Vulkan driver",
            (Need::Software, System::Windows) => {
                "Windows brings one, the Microsoft Basic Render Driver: update Windows"
            }
            (Need::Software, System::Mac) => "macOS has none",
            (Need::Software, System::Debian) => "apt-get install mesa-vulkan-drivers libvulkan1",
            (Need::Software, System::Fedora) => "dnf install mesa-vulkan-drivers vulkan-loader",
            (Need::Software, System::Arch) => "pacman -S vulkan-swrast vulkan-icd-loader",
            (Need::Software, System::Other) => "install Mesa's lavapipe and the Vulkan loader",
            (Need::NvidiaVulkan, System::Debian) => "apt-get install nvidia-vulkan-icd libvulkan1",
            (Need::NvidiaVulkan, System::Fedora) => "dnf install xorg-x11-drv-nvidia-libs vulkan-loader",
            (Need::NvidiaVulkan, System::Arch) => "pacman -S nvidia-utils vulkan-icd-loader",
            (Need::NvidiaVulkan, System::Windows) => "install NVIDIA's driver anew: it brings Vulkan",
            (Need::NvidiaVulkan, System::Mac) => "macOS draws with Metal, and has no driver of NVIDIA's",
            (Need::NvidiaVulkan, System::Other) => "install the Vulkan part of NVIDIA's driver and the Vulkan loader",
            (Need::X11, System::Debian) => "apt-get install libx11-xcb1 libxcursor1 libxi6 libxkbcommon-x11-0",
            (Need::X11, System::Fedora) => "dnf install libX11-xcb libXcursor libXi libxkbcommon-x11",
            (Need::X11, System::Arch) => "pacman -S libx11 libxcursor libxi libxkbcommon-x11",
            (Need::X11, System::Windows | System::Mac) => "start it where somebody is logged in at the screen",
            (Need::X11, System::Other) => "install the libraries of X11: X11-xcb, Xcursor, Xi and xkbcommon-x11",
            (Need::Opener, System::Windows | System::Mac) => "open it by hand",
            (Need::Opener, System::Debian) => "open it by hand, or apt-get install xdg-utils",
            (Need::Opener, System::Fedora) => "open it by hand, or dnf install xdg-utils",
            (Need::Opener, System::Arch) => "open it by hand, or pacman -S xdg-utils",
            (Need::Opener, System::Other) => "open it by hand, or install xdg-utils",
            (Need::Dialogs, System::Windows | System::Mac) => "type the path, or drop the file on the window",
            (Need::Dialogs, System::Debian) => "apt-get install zenity, type the path, or drop the file on the window",
            (Need::Dialogs, System::Fedora) => "dnf install zenity, type the path, or drop the file on the window",
            (Need::Dialogs, System::Arch) => "pacman -S zenity, type the path, or drop the file on the window",
            (Need::Dialogs, System::Other) => "type the path, or drop the file on the window",
            (Need::Ffmpeg, System::Windows) => "winget install ffmpeg",
            (Need::Ffmpeg, System::Mac) => "brew install ffmpeg",
            (Need::Ffmpeg, System::Debian) => "apt-get install ffmpeg",
            (Need::Ffmpeg, System::Fedora) => "dnf install ffmpeg-free",
            (Need::Ffmpeg, System::Arch) => "pacman -S ffmpeg",
            (Need::Ffmpeg, System::Other) => "install ffmpeg",
        }
    }
}

/// The same on this system.
pub fn how(need: Need) -> &'static str {
    System::here().how(need)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_known_by_its_release_file() {
        for (text, system) in [
            ("PRETTY_NAME=\"Debian 12\"\nID=debian\n", System::Debian),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", System::Debian),
            ("ID=fedora\nVARIANT_ID=workstation\n", System::Fedora),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", System::Fedora),
            ("ID=manjaro\nID_LIKE=arch\n", System::Arch),
            ("ID=nixos\n", System::Other),
            ("", System::Other),
        ] {
            assert_eq!(System::of_os_release(text), system, "{text}");
        }
    }

    /// Nobody is told of another system's package manager.
    #[test]
    fn each_system_is_told_its_own() {
        use System::*;
        let of_system = [Need::Driver, Need::Software, Need::NvidiaVulkan, Need::X11, Need::Opener, Need::Dialogs];
        for need in of_system.into_iter().chain([Need::Ffmpeg]) {
            for (tool, owner) in [("apt-get", Debian), ("dnf", Fedora), ("pacman", Arch)] {
                for system in [Windows, Mac, Debian, Fedora, Arch, Other] {
                    assert_eq!(system.how(need).contains(tool), system == owner, "{need:?} {system:?}");
                }
            }
            for system in [Windows, Mac] {
                let told = system.how(need);
                let of_linux = ["X11", "xdg", "lavapipe", "Mesa"].iter().find(|word| told.contains(**word));
                assert_eq!(of_linux, None, "{need:?} {system:?}: {told}");
            }
        }
    }
}
