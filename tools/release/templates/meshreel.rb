class Meshreel < Formula
  desc "Baked animation into small files with a guaranteed error, and back"
  homepage "https://github.com/meshreel/meshreel"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "{url:aarch64-apple-darwin}"
      sha256 "{sha256:aarch64-apple-darwin}"
    end
    on_intel do
      url "{url:x86_64-apple-darwin}"
      sha256 "{sha256:x86_64-apple-darwin}"
    end
  end

  on_linux do
    on_arm do
      url "{url:aarch64-unknown-linux-gnu}"
      sha256 "{sha256:aarch64-unknown-linux-gnu}"
    end
    on_intel do
      url "{url:x86_64-unknown-linux-gnu}"
      sha256 "{sha256:x86_64-unknown-linux-gnu}"
    end
  end

  def install
    bin.install "meshreel", "meshreel-view"
    bash_completion.install "completions/meshreel.bash" => "meshreel"
    fish_completion.install "completions/meshreel.fish"
    zsh_completion.install "completions/_meshreel"
    man1.install Dir["man1/*"]
    doc.install "README.md", "CHANGELOG.md", Dir["THIRD_PARTY-*"]
  end

  test do
    system bin/"meshreel", "demo", "--quiet"
    assert_path_exists testpath/"demo"
  end
end
