import Foundation
import Testing

/// The result of a run of the tool that was built beside the tests.
struct ToolRun {
  let code: Int32
  let output: Data
  let errors: String

  var text: String { String(decoding: output, as: UTF8.self) }

  /// Returns stdout parsed as the single JSON object of `--json`.
  func json(_ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
    let value = try? JSONSerialization.jsonObject(with: output)
    return try #require(
      value as? [String: Any], "stdout is no JSON object; stderr: \(errors)", sourceLocation: location)
  }

  /// Returns the last line of stderr parsed as the JSON of an error.
  func error(_ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
    let line = errors.split(separator: "\n").last.map(String.init) ?? ""
    let value = try? JSONSerialization.jsonObject(with: Data(line.utf8))
    return try #require(value as? [String: Any], "no JSON error: \(errors)", sourceLocation: location)
  }
}

/// A temporary directory of one test, removed after it.
final class Scratch {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/kvclone-tool-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of the built executable, beside the test bundle.
  static let executable: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (tests as NSString).deletingLastPathComponent + "/kvclone"
  }()

  func file(_ name: String) -> String { "\(path)/\(name)" }
  var store: String { file("store") }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
  }

  func read(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: file(name)))
  }

  func process(_ arguments: [String], environment: [String: String] = [:]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Scratch.executable)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: path)
    var variables = ProcessInfo.processInfo.environment
    variables["KVCLONE_STORE"] = nil
    variables.merge(environment) { _, new in new }
    process.environment = variables
    return process
  }

  /// Runs the tool to its end. Output goes to files, so that no pipe fills up.
  func run(_ arguments: [String], input: String = "", environment: [String: String] = [:]) throws -> ToolRun {
    try finish(process(arguments, environment: environment), input: input)
  }

  /// Runs another program to its end.
  ///
  /// - Parameter isHere: whether to run in this directory with the tool on the path, instead of the tests' environment.
  func runProgram(_ path: String, _ arguments: [String], isHere: Bool = false) throws -> ToolRun {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    if isHere {
      process.currentDirectoryURL = URL(fileURLWithPath: self.path)
      process.environment = Scratch.environmentWithTool
    }
    return try finish(process, input: "")
  }

  /// The environment with the tool on the path, without a default store.
  static var environmentWithTool: [String: String] {
    var variables = ProcessInfo.processInfo.environment
    let folder = (executable as NSString).deletingLastPathComponent
    variables["PATH"] = folder + ":" + (variables["PATH"] ?? "")
    variables["KVCLONE_STORE"] = nil
    return variables
  }

  private func finish(_ process: Process, input: String) throws -> ToolRun {
    let stem = UUID().uuidString
    let names = ["in", "out", "err"].map { "\(stem).\($0)" }
    try write(input, to: names[0])
    for name in names[1...] { _ = FileManager.default.createFile(atPath: file(name), contents: nil) }
    process.standardInput = FileHandle(forReadingAtPath: file(names[0]))
    process.standardOutput = FileHandle(forWritingAtPath: file(names[1]))
    process.standardError = FileHandle(forWritingAtPath: file(names[2]))
    try process.run()
    process.waitUntilExit()
    let result = ToolRun(
      code: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
      output: try read(names[1]), errors: String(decoding: try read(names[2]), as: UTF8.self))
    for name in names { try? FileManager.default.removeItem(atPath: file(name)) }
    return result
  }

  /// Runs the tool on the scratch store.
  func tool(_ arguments: String..., input: String = "") throws -> ToolRun {
    try run(["--store", store] + arguments, input: input)
  }

  /// Runs the tool like ``tool(_:input:)``, and expects success.
  @discardableResult
  func succeed(
    _ arguments: String..., input: String = "", location: SourceLocation = #_sourceLocation
  ) throws -> ToolRun {
    let result = try run(["--store", store] + arguments, input: input)
    #expect(result.code == 0, "\(arguments): \(result.errors)", sourceLocation: location)
    return result
  }

  /// Creates a store with the tests' model.
  func makeStore() throws {
    try TestModel.write(to: file("Notes.xcdatamodeld"))
    try succeed("init", "--model", file("Notes.xcdatamodeld"))
  }
}

extension Scratch {
  /// Creates a store with `count` named notes, beginning with `Note/1`.
  static func filled(_ count: Int = 300) throws -> Scratch {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("load", "-", input: notes(count))
    return scratch
  }

  /// Returns `count` notes as lines for `load`.
  static func notes(_ count: Int) -> String {
    var lines = ""
    for number in 1...count {
      lines += #"{"id":"Note/\#(number)","attributes":{"name":"note \#(number)"}}"# + "\n"
    }
    return lines
  }
}

/// Programs on this machine that some tests need.
enum Programs {
  /// Returns the path of a program in PATH, or nil.
  static func path(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  static func has(_ names: String...) -> Bool { names.allSatisfy { path($0) != nil } }

  /// The root folder of the package.
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Commands of bash that close all descriptors except the standard ones.
  static let closesDescriptors = #"""
    for path in /proc/self/fd/*; do
      descriptor=${path##*/}
      [ "$descriptor" -le 2 ] || { exec {descriptor}>&-; } 2>/dev/null
    done
    """#

  /// The folder of the built tool.
  static let buildDirectory = (Scratch.executable as NSString).deletingLastPathComponent
}

/// The tests' model in Xcode's format: each attribute type, each kind of relationship.
enum TestModel {
  static func write(to bundle: String, contents: String = contents) throws {
    let version = bundle + "/Notes.xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(contents.utf8).write(to: URL(fileURLWithPath: version + "/contents"))
  }

  static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Base" isAbstract="YES">
        <attribute name="name" attributeType="String" defaultValueString="unnamed" optional="YES"/>
      </entity>
      <entity name="Note">
        <attribute name="name" attributeType="String" defaultValueString="unnamed" optional="YES"/>
        <attribute name="count" attributeType="Integer 16" optional="YES" usesScalarValueType="NO"/>
        <attribute name="created" attributeType="Date" optional="YES" usesScalarValueType="NO">
          <userInfo><entry key="rebuild" value="now"/></userInfo>
        </attribute>
        <attribute name="data" attributeType="Binary" optional="YES"/>
        <attribute name="flag" attributeType="Boolean" optional="YES" usesScalarValueType="NO"/>
        <attribute name="id" attributeType="UUID" optional="YES" usesScalarValueType="NO">
          <userInfo><entry key="rebuild" value="uuid"/></userInfo>
        </attribute>
        <attribute name="link" attributeType="URI" optional="YES"/>
        <attribute name="price" attributeType="Decimal" optional="YES"/>
        <attribute name="ratio" attributeType="Double" optional="YES" usesScalarValueType="NO"/>
        <attribute name="size" attributeType="Float" optional="YES" usesScalarValueType="NO"/>
        <attribute name="total" attributeType="Integer 64" optional="YES" usesScalarValueType="NO"/>
        <relationship name="items" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade" \
    destinationEntity="Item" inverseName="note" inverseEntity="Item"/>
        <relationship name="summary" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Summary" inverseName="note" inverseEntity="Summary"/>
      </entity>
      <entity name="Item" parentEntity="Base">
        <attribute name="rank" attributeType="Integer 32" optional="YES" minValueString="0" maxValueString="100" \
    usesScalarValueType="NO"/>
        <relationship name="note" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Note" inverseName="items" inverseEntity="Note"/>
        <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" \
    destinationEntity="Tag" inverseName="items" inverseEntity="Tag"/>
      </entity>
      <entity name="Tag">
        <attribute name="label" attributeType="String"/>
        <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" \
    destinationEntity="Item" inverseName="tags" inverseEntity="Item"/>
        <uniquenessConstraints>
          <uniquenessConstraint><constraint value="label"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      <entity name="Summary">
        <attribute name="text" attributeType="String" optional="YES"/>
        <relationship name="note" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Note" inverseName="summary" inverseEntity="Note"/>
      </entity>
    </model>
    """
}

/// Whether the tests and the tool were built with a sanitizer (`Tools/test --sanitize`). A sanitizer needs memory
/// itself, so that memory limits do not measure the library.
enum Sanitizer {
  static let isOn = ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] != nil

  /// For tests with `ulimit -f`: programs built with the thread sanitizer write a longer file when they start.
  static let permitsFileLimits = ConditionTrait.enabled(
    if: ProcessInfo.processInfo.environment["KVCLONE_SANITIZER"] != "thread",
    "the thread sanitizer exceeds the limit itself")
}
