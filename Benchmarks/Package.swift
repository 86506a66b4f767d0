// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

// A separate package, so that the compared libraries never become dependencies of the library's users.
let package = Package(
  name: "Benchmarks",
  traits: [.trait(name: "Postgres", description: "ClusterBenchmark. Needs libpq-dev.")],
  dependencies: [
    .package(
      name: "KVClone", path: "..",
      traits: [.defaults, .init(name: "Postgres", condition: .when(traits: ["Postgres"]))]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .target(
      name: "BenchmarkSupport", dependencies: [.product(name: "KVClone", package: "KVClone")], swiftSettings: settings),
    .executableTarget(
      name: "CloneBenchmark",
      dependencies: [
        "BenchmarkSupport", .product(name: "KVClone", package: "KVClone"),
        .product(name: "KVCloneMerge", package: "KVClone"),
        .product(name: "KVCloneOperations", package: "KVClone"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "ClusterBenchmark",
      dependencies: [
        "BenchmarkSupport", .product(name: "KVClone", package: "KVClone"),
        .product(name: "KVClonePostgres", package: "KVClone", condition: .when(traits: ["Postgres"])),
      ],
      swiftSettings: settings),
    .target(name: "CLMDBPeer", linkerSettings: [.linkedLibrary("lmdb")]),
    .target(name: "CRocksPeer", linkerSettings: [.linkedLibrary("rocksdb")]),
    .target(
      name: "PhotoStores",
      dependencies: ["BenchmarkSupport", "CLMDBPeer", .product(name: "KVClone", package: "KVClone")],
      swiftSettings: settings),
    .executableTarget(
      name: "CloneComparison",
      dependencies: [
        "BenchmarkSupport", "CRocksPeer", "PhotoStores",
        .product(name: "KVClone", package: "KVClone"), .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
    .target(
      name: "ItemPeers",
      dependencies: [
        "BenchmarkSupport", .product(name: "KVClone", package: "KVClone"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "FetchComparison", dependencies: ["BenchmarkSupport", "ItemPeers"], swiftSettings: settings),
    .executableTarget(
      name: "ServiceComparison",
      dependencies: [
        "BenchmarkSupport", "CLMDBPeer", "ItemPeers", "PhotoStores",
        .product(name: "KVClone", package: "KVClone"), .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
    .testTarget(name: "BenchmarkSupportTests", dependencies: ["BenchmarkSupport"], swiftSettings: settings),
  ]
)
