// swift-tools-version: 6.2
import PackageDescription

/// Every target speaks Swift 6 and may use lifetime dependencies: a value borrowed from the memory map is a span that
/// cannot leave the transaction it came from.
let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let service: TargetDependencyCondition = .when(traits: ["Service"])!
let postgres: TargetDependencyCondition = .when(traits: ["Postgres"])!
let tracing: TargetDependencyCondition = .when(traits: ["Tracing"])!
let explorer: TargetDependencyCondition = .when(traits: ["Explorer"])!
let configuration: TargetDependencyCondition = .when(traits: ["Configuration"])!

/// The modules that tests of the store use. Each target tests one module, and opens stores by those above it.
let tested: [Target.Dependency] = [
  "KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneBranches", "KVCloneQuery", "KVCloneCore",
  "KVCloneTestSupport", "KVClonePeer",
]

let package = Package(
  name: "KVClone",
  products: [
    .library(name: "KVClone", targets: ["KVClone"]),
    .library(name: "KVCloneMerge", targets: ["KVCloneMerge"]),
    .library(name: "KVCloneOperations", targets: ["KVCloneOperations"]),
    .library(name: "KVCloneExplorer", targets: ["KVCloneExplorer"]),
    .library(name: "KVCloneService", targets: ["KVCloneService"]),
    .library(name: "KVClonePostgres", targets: ["KVClonePostgres"]),
    .library(name: "KVCloneConfiguration", targets: ["KVCloneConfiguration"]),
    .executable(name: "kvclone", targets: ["KVCloneTool"]),
    .plugin(name: "KVCloneModelPlugin", targets: ["KVCloneModelPlugin"]),
  ],
  traits: [
    .trait(
      name: "Service",
      description: "KVCloneService: a store as a service of swift-service-lifecycle, with health and metrics."),
    .trait(name: "Postgres", description: "KVClonePostgres: stores in a PostgreSQL cluster. Needs libpq-dev."),
    .trait(name: "Explorer", description: "kvclone explore: the explorer, served by FlyingFox."),
    .trait(name: "Tracing", description: "Spans of transactions and other operations, by swift-distributed-tracing."),
    .trait(name: "Configuration", description: "KVCloneConfiguration: options from swift-configuration."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    // Each is fetched and built with its trait only.
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    // The first version that was tested with a tracer per task (`withTracer`).
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CKVCloneLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .target(
      name: "KVCloneLMDB", dependencies: ["CKVCloneLMDB"],
      swiftSettings: common + [.strictMemorySafety(), .treatWarning("StrictMemorySafety", as: .error)]),
    .target(name: "KVCloneModel", swiftSettings: common),
    .target(
      name: "KVCloneRecords", dependencies: ["KVCloneModel"], exclude: ["Format.md"],
      swiftSettings: common),
    .target(name: "KVCloneCoreData", dependencies: ["KVCloneModel"], swiftSettings: common),
    .target(
      name: "KVCloneTracing",
      dependencies: [.product(name: "Tracing", package: "swift-distributed-tracing", condition: tracing)],
      swiftSettings: common),
    .target(
      name: "KVCloneCore",
      dependencies: [
        "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneTracing",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneQuery", dependencies: ["KVCloneCore", "KVCloneRecords", "KVCloneModel", "KVCloneTracing"],
      exclude: ["Conditions.md"], swiftSettings: common),
    .target(
      name: "KVCloneBranches",
      dependencies: ["KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneTracing"],
      swiftSettings: common),
    .target(
      name: "KVClone",
      dependencies: [
        "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneCoreData",
        "KVCloneModel", "KVCloneTracing", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneMerge",
      dependencies: [
        "KVClone", "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel",
        "KVCloneTracing",
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneOperations",
      dependencies: [
        "KVClone", "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneCoreData",
        "KVCloneModel", "KVCloneTracing", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneExplorer",
      dependencies: [
        "KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords",
        "KVCloneModel",
      ],
      swiftSettings: common),
    .systemLibrary(name: "CKVClonePostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    // Without its trait there is nothing in this target, nor in the next four.
    .target(
      name: "KVClonePostgres",
      dependencies: [
        .target(name: "CKVClonePostgres", condition: postgres), "KVClone", "KVCloneBranches", "KVCloneCore",
        "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneTracing",
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneConfiguration",
      dependencies: [
        "KVClone", .target(name: "KVClonePostgres", condition: postgres),
        .target(name: "KVCloneService", condition: service),
        .product(name: "Configuration", package: "swift-configuration", condition: configuration),
      ],
      swiftSettings: common),
    .target(
      name: "KVCloneService",
      dependencies: [
        "KVCloneOperations", "KVClone", .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics", condition: service),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: service),
      ],
      swiftSettings: common),
    .executableTarget(
      name: "KVCloneInbox",
      dependencies: [
        .target(name: "KVCloneService", condition: service), .target(name: "KVClonePostgres", condition: postgres),
      ],
      path: "Tools/service-example", exclude: ["Dockerfile", "Notes.xcdatamodeld"], swiftSettings: common),
    .executableTarget(
      name: "KVCloneServiceProbe",
      dependencies: [
        "KVCloneMerge",
        .target(name: "KVCloneService", condition: service),
        .target(name: "KVCloneConfiguration", condition: configuration),
        .target(name: "KVClonePostgres", condition: postgres),
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: service),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: tracing),
        .product(name: "Configuration", package: "swift-configuration", condition: configuration),
      ],
      path: "Tests/KVCloneServiceProbe", swiftSettings: common),
    .target(name: "KVCloneGenerator", dependencies: ["KVCloneModel"], swiftSettings: common),
    .plugin(name: "KVCloneModelPlugin", capability: .buildTool(), dependencies: ["KVCloneModelTool"]),
    .executableTarget(
      name: "KVCloneModelTool", dependencies: ["KVCloneGenerator", "KVCloneCoreData", "KVCloneModel"],
      path: "Tools/kvclone-model", swiftSettings: common),
    .target(
      name: "KVCloneDemo", dependencies: ["KVCloneOperations", "KVCloneMerge", "KVClone"], path: "Tools/kvclone-demo",
      swiftSettings: common),
    .target(
      name: "KVCloneBench", dependencies: ["KVCloneOperations", "KVClone", "KVCloneDemo"], path: "Tools/kvclone-bench",
      swiftSettings: common),
    .executableTarget(
      name: "KVCloneTool",
      dependencies: [
        "KVCloneExplorer", "KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneBench", "KVCloneDemo",
        "KVCloneGenerator",
        .target(name: "KVClonePostgres", condition: postgres),
        .product(name: "FlyingSocks", package: "FlyingFox", condition: explorer),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tools/kvclone", swiftSettings: common),
    .executableTarget(
      name: "KVCloneFaultTool",
      dependencies: ["KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneLMDB", "KVCloneRecords"],
      path: "Tools/kvclone-faults", exclude: ["Shim"], swiftSettings: common),
    .target(name: "CKVCloneYardstick", dependencies: ["CKVCloneLMDB"], path: "Benchmarks/Yardstick"),
    .executableTarget(
      name: "KVCloneLayerBenchmark",
      dependencies: ["KVClone", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "CKVCloneYardstick"],
      path: "Benchmarks/Layers", swiftSettings: common),
    .executableTarget(
      name: "KVClonePeer",
      dependencies: ["KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneLMDB", "KVCloneTestSupport"],
      path: "Tests/KVClonePeer", swiftSettings: common),
    .target(
      name: "KVCloneTestSupport",
      dependencies: [
        "KVCloneOperations", "KVClone", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneCoreData",
        .target(name: "KVClonePostgres", condition: postgres),
      ],
      path: "Tests/KVCloneTestSupport", swiftSettings: common),
    .testTarget(
      name: "KVCloneModelTests", dependencies: ["KVCloneModel", "KVCloneTestSupport"], swiftSettings: common),
    .testTarget(
      name: "KVCloneRecordsTests", dependencies: ["KVCloneRecords"], swiftSettings: common),
    .testTarget(
      name: "KVCloneLMDBTests", dependencies: ["KVCloneLMDB", "KVCloneTestSupport", "KVClonePeer"],
      swiftSettings: common),
    .testTarget(
      name: "KVCloneCoreDataTests", dependencies: ["KVCloneCoreData", "KVCloneTestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "KVCloneCoreTests", dependencies: tested + [.product(name: "Logging", package: "swift-log")],
      swiftSettings: common),
    .testTarget(
      name: "KVCloneMergeTests",
      dependencies: tested + ["KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneCoreData"],
      swiftSettings: common),
    .testTarget(name: "KVCloneQueryTests", dependencies: tested, swiftSettings: common),
    .testTarget(name: "KVCloneTests", dependencies: tested, swiftSettings: common),
    .testTarget(
      name: "KVCloneOperationsTests", dependencies: tested, exclude: ["GoldenStores"], swiftSettings: common),
    .testTarget(
      name: "KVCloneTypedTests", dependencies: ["KVCloneMerge", "KVClone", "KVCloneGenerator", "KVCloneTestSupport"],
      exclude: ["Notebook.xcdatamodeld", "Todo.xcdatamodeld", "Golden"], swiftSettings: common,
      plugins: ["KVCloneModelPlugin"]),
    .testTarget(
      name: "KVClonePostgresTests",
      dependencies: [
        .target(name: "KVClonePostgres", condition: postgres), "KVCloneOperations", "KVClone", "KVCloneCore",
        "KVCloneRecords", "KVCloneTestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "KVCloneExplorerTests",
      dependencies: [
        "KVCloneExplorer", "KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneDemo", "KVCloneTestSupport",
        "KVClonePeer",
      ],
      swiftSettings: common),
    .testTarget(name: "TidyTests", swiftSettings: common),
    .testTarget(
      name: "KVCloneToolTests",
      dependencies: [
        "KVCloneTool", "KVCloneExplorer", "KVCloneOperations", "KVCloneMerge", "KVClone", "KVCloneTestSupport",
        "KVClonePeer",
      ],
      swiftSettings: common),
  ]
)

// The test command has the libraries optimized, with their assertions: the tests spend their time in them, and take
// half of it so. The optimizer is given by a flag because SwiftPM's own configurations know no other way to keep
// assertions. KVCloneModel and KVCloneCoreData are left out: the optimizer takes longer for them than tests gain, and
// they are compiled twice, for the tests and for the tool of the build plugin.
if Context.environment["KVCLONE_OPTIMIZED"] == "1" {
  let libraries: Set = [
    "KVCloneLMDB", "KVCloneRecords", "KVCloneTracing", "KVCloneCore", "KVCloneBranches", "KVCloneQuery", "KVClone",
    "KVCloneMerge", "KVCloneOperations", "KVClonePostgres",
  ]
  for target in package.targets where libraries.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O", "-assert-config", "Debug"])]
  }
}

// The fuzz targets have no main: libFuzzer brings it. So they are a program for `Tools/test --fuzz` only, and tests
// otherwise.
let fuzzed: [Target.Dependency] = [
  "KVCloneExplorer", "KVCloneOperations", "KVClone", "KVCloneTestSupport", "KVCloneRecords", "KVCloneCoreData",
  "KVCloneModel",
]
if Context.environment["KVCLONE_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "KVCloneFuzz", dependencies: fuzzed, path: "Tools/fuzz", exclude: ["Corpus", "CorpusTests.swift"],
      swiftSettings: common + [.unsafeFlags(["-parse-as-library"])]))
} else {
  package.targets.append(
    .testTarget(
      name: "KVCloneFuzzTests", dependencies: fuzzed, path: "Tools/fuzz", exclude: ["Corpus", "FuzzMain.swift"],
      swiftSettings: common))
}

// A build without tests leaves out their targets: one of them uses the build plugin, and its tool would be built before
// everything else.
if Context.environment["KVCLONE_TESTS"] == "0" { package.targets.removeAll { $0.type == .test } }
