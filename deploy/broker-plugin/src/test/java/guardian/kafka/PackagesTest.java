package guardian.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Each part of the plugin knows its own packages and the common one; only the classes that brokers name see all parts. No
 * packages import each other in a circle, and none is too large to be looked through.
 */
class PackagesTest {
    private static final Path ALL = Path.of("src");
    private static final Path SOURCES = ALL.resolve("main/java/guardian/kafka");
    private static final Path TESTS = ALL.resolve("test/java/guardian/kafka");
    private static final long MOST_FILES = 30;
    private static final String COMMON = "common";
    private static final Set<String> PARTS = Set.of("activity", "hdfs", "metadata", "placement", "reporter");
    private static final Pattern NAMED = Pattern.compile("\\bguardian\\.kafka\\.(\\w+)");
    private static final Pattern PACKAGE_OF_A_CLASS = Pattern.compile("\\b(guardian\\.kafka(?:\\.[a-z]\\w*)*)\\.[A-Z*]");
    private static final Pattern COMMENT_OR_TEXT =
            Pattern.compile("/\\*.*?\\*/|//[^\\n]*|\"(?:\\\\.|[^\"\\\\\\n])*\"", Pattern.DOTALL);

    /** What a source file names of another part, with the reason. */
    private static final Map<String, Set<String>> EXCEPTIONS = Map.of(
            // The reporter sends what the authorizer counts; Kafka makes both by itself, so that they meet in Activity.
            "reporter/Reporter.java", Set.of("activity"));

    @Test
    void partsImportWhatIsCommonAndNotEachOther() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        for (String part : PARTS) {
            for (Path source : sources(SOURCES.resolve(part))) {
                Set<String> others = named(source);
                others.removeAll(Set.of(part, COMMON));
                if (!others.isEmpty()) {
                    found.put(relative(source), others);
                }
            }
        }
        assertEquals(EXCEPTIONS, found);
    }

    @Test
    void whatIsCommonKnowsNoPart() throws IOException {
        for (Path source : sources(SOURCES.resolve(COMMON))) {
            assertEquals(Set.of(COMMON), named(source), relative(source));
        }
    }

    @Test
    void eachPackageIsAPartOrCommon() throws IOException {
        Set<String> packages = new TreeSet<>();
        try (Stream<Path> entries = Files.list(SOURCES)) {
            entries.filter(Files::isDirectory).map(entry -> entry.getFileName().toString()).forEach(packages::add);
        }
        Set<String> known = new TreeSet<>(PARTS);
        known.add(COMMON);
        assertEquals(known, packages);
    }

    @Test
    void noPackagesImportEachOtherInACircle() throws IOException {
        assertEquals(Set.of(), inACircle(imports(SOURCES)), "packages that import each other in a circle");
    }

    @Test
    void noTestsImportEachOtherInACircle() throws IOException {
        assertEquals(Set.of(), inACircle(imports(TESTS)), "packages whose tests import each other in a circle");
    }

    @Test
    void noFolderHoldsMoreFilesThanOneCanLookThrough() throws IOException {
        try (Stream<Path> files = Files.walk(ALL)) {
            Map<Path, Long> counts = files.filter(Files::isRegularFile)
                    .collect(Collectors.groupingBy(Path::getParent, TreeMap::new, Collectors.counting()));
            counts.values().removeIf(count -> count <= MOST_FILES);
            assertEquals(Map.of(), counts, "folders with more than " + MOST_FILES + " files");
        }
    }

    /** By package the others that its code names. */
    private static Map<String, Set<String>> imports(Path folder) throws IOException {
        Map<String, Set<String>> imports = new TreeMap<>();
        for (Path source : sources(folder)) {
            Path below = folder.getParent().getParent().relativize(source.getParent());
            String own = below.toString().replace(File.separatorChar, '.');
            Set<String> others = named(source, PACKAGE_OF_A_CLASS);
            others.remove(own);
            imports.computeIfAbsent(own, unseen -> new TreeSet<>()).addAll(others);
        }
        return imports;
    }

    /** What is left when those go, again and again, that import none of the others or are imported by none. */
    private static Set<String> inACircle(Map<String, Set<String>> imports) {
        Map<String, Set<String>> left = new TreeMap<>(imports);
        boolean isLess = true;
        while (isLess) {
            Set<String> before = Set.copyOf(left.keySet());
            isLess = left.values().removeIf(others -> Collections.disjoint(others, before));
            isLess |= left.keySet().retainAll(left.values().stream().flatMap(Set::stream).collect(Collectors.toSet()));
        }
        return left.keySet();
    }

    /** Packages under guardian.kafka, or classes in it, that the code names, by an import or in full. */
    private static Set<String> named(Path source) throws IOException {
        return named(source, NAMED);
    }

    private static Set<String> named(Path source, Pattern pattern) throws IOException {
        String code = COMMENT_OR_TEXT.matcher(Files.readString(source)).replaceAll(" ");
        Set<String> names = new TreeSet<>();
        pattern.matcher(code).results().map(name -> name.group(1)).forEach(names::add);
        return names;
    }

    private static List<Path> sources(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
        }
    }

    private static String relative(Path source) {
        return SOURCES.relativize(source).toString();
    }
}
