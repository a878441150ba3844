import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.Attribute;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Reads all attributes of all mbeans of a JVM, mbean by mbean, over the JDK's own remote JMX. Which attributes an mbean
 * has is asked once and remembered, which is the cheapest way to read that JMX has.
 *
 * <p>Argument: host:port. Commands on standard input, one JSON object a line on standard output:
 * <pre>
 * read N        reads everything N times: {"mbeans", "values", "seconds"}
 * dump FILE     reads everything once and writes "name TAB value" lines, name as group:type=T,...:attribute
 * </pre>
 */
public final class JmxReader {
    private final MBeanServerConnection connection;
    private final Map<ObjectName, String[]> attributes = new LinkedHashMap<>();

    private JmxReader(MBeanServerConnection connection) {
        this.connection = connection;
    }

    public static void main(String[] arguments) throws Exception {
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://" + arguments[0] + "/jmxrmi");
        try (JMXConnector connector = JMXConnectorFactory.connect(url)) {
            JmxReader reader = new JmxReader(connector.getMBeanServerConnection());
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                String[] words = line.split(" ", 2);
                System.out.println(words[0].equals("dump") ? reader.dump(Path.of(words[1])) : reader.read(words[1]));
            }
        }
    }

    private String read(String times) throws JMException, IOException {
        long began = System.nanoTime();
        Map<String, Double> values = Map.of();
        for (int round = 0; round < Integer.parseInt(times); round++) {
            values = all();
        }
        return said(values, began);
    }

    private String dump(Path file) throws JMException, IOException {
        long began = System.nanoTime();
        Map<String, Double> values = all();
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            values.forEach((name, value) -> out.println(name + '\t' + value));
        }
        return said(values, began);
    }

    private String said(Map<String, Double> values, long began) {
        double seconds = (System.nanoTime() - began) / 1e9;
        return String.format(
                "{\"mbeans\": %d, \"values\": %d, \"seconds\": %.3f}", attributes.size(), values.size(), seconds);
    }

    private Map<String, Double> all() throws JMException, IOException {
        Map<String, Double> values = new LinkedHashMap<>();
        for (ObjectName name : connection.queryNames(null, null)) {
            try {
                for (Attribute attribute : connection.getAttributes(name, attributesOf(name)).asList()) {
                    put(values, name + ":" + attribute.getName(), attribute.getValue());
                }
            } catch (InstanceNotFoundException gone) {
                attributes.remove(name);
            }
        }
        return values;
    }

    private String[] attributesOf(ObjectName name) throws JMException, IOException {
        String[] known = attributes.get(name);
        if (known == null) {
            List<String> found = new ArrayList<>();
            for (MBeanAttributeInfo attribute : connection.getMBeanInfo(name).getAttributes()) {
                if (attribute.isReadable()) {
                    found.add(attribute.getName());
                }
            }
            known = found.toArray(String[]::new);
            attributes.put(name, known);
        }
        return known;
    }

    private static void put(Map<String, Double> values, String name, Object value) {
        if (value instanceof Number) {
            values.put(name, ((Number) value).doubleValue());
        } else if (value instanceof Boolean) {
            values.put(name, (Boolean) value ? 1.0 : 0.0);
        } else if (value instanceof CompositeData) {
            CompositeData parts = (CompositeData) value;
            for (String key : parts.getCompositeType().keySet()) {
                put(values, name + '.' + key, parts.get(key));
            }
        }
    }
}
