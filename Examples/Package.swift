// swift-tools-version: 6.2
import PackageDescription

/// Five small programs, each a target. They are a package of their own, so that a package that depends on KVClone
/// builds none of them.
let package = Package(
  name: "Examples",
  dependencies: [.package(name: "KVClone", path: "..")],
  targets: [
    example("Notes", models: ["Notes.xcdatamodeld"]),
    example("PhotoImport", models: ["Photos.xcdatamodeld"]),
    example("Templates", models: ["Todo.xcdatamodeld"]),
    example("Audit"),
    example("Migration"),
  ]
)

/// An executable target; the build plugin generates Swift for its models.
func example(_ name: String, models: [String] = []) -> Target {
  .executableTarget(
    name: name, dependencies: [.product(name: "KVClone", package: "KVClone")], path: name, exclude: models,
    swiftSettings: [.swiftLanguageMode(.v6)],
    plugins: models.isEmpty ? [] : [.plugin(name: "KVCloneModelPlugin", package: "KVClone")])
}
