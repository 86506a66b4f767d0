/// The version of this package: the one place that states it.
///
/// `kvclone --version` prints it, and `Tools/release` compares it with CHANGELOG.md before it tags.
package enum PackageVersion {
  /// A semantic version, `MAJOR.MINOR.PATCH`.
  package static let current = "0.1.0"
}
