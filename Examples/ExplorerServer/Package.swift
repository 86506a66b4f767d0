// swift-tools-version: 6.2
import PackageDescription

/// The explorer in a service of Hummingbird. It is a package of its own: neither KVClone nor the other examples depend on
/// Hummingbird.
let package = Package(
  name: "ExplorerServer",
  dependencies: [
    .package(name: "KVClone", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "ExplorerServer",
      dependencies: [
        .product(name: "KVClone", package: "KVClone"), .product(name: "KVCloneExplorer", package: "KVClone"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
