// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that whatever the benchmarks compare with never becomes a dependency of the library's users.
let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "KVClone", path: "..")],
  targets: [
    .executableTarget(
      name: "CloneBenchmark", dependencies: [.product(name: "KVClone", package: "KVClone")],
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")])
  ]
)
