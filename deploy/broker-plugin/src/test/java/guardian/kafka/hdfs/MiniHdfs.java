package guardian.kafka.hdfs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A real HDFS in one process, for tests of other processes:
 * {@code java -cp <hadoop jars> MiniHdfs.java DIR [PORT [DATANODES [PRINCIPAL KEYTAB]]]}.
 *
 * <p>It prints its URI as its first line on stdout, takes commands on stdin, answers each with one line, and ends when stdin
 * closes, so that it can't outlive whoever started it. It needs Hadoop's jars and nothing of this module.
 */
public final class MiniHdfs {
    private MiniHdfs() {}

    /** The arguments: a directory of its own, the NameNode's port (0: any), how many DataNodes, who it is to Kerberos. */
    public static void main(String[] args) throws IOException {
        Path dir = Path.of(args[0]);
        int port = args.length > 1 ? Integer.parseInt(args[1]) : 0;
        int dataNodes = args.length > 2 ? Integer.parseInt(args[2]) : 1;
        Configuration conf = configuration();
        if (args.length > 4) {
            secure(conf, args[3], args[4]);
        }
        // Hadoop's own words go to stderr, whichever logging it finds.
        PrintStream answers = System.out;
        System.setOut(System.err);
        try (MiniDFSCluster cluster = start(conf, dir, port, dataNodes)) {
            // Tests write as whoever they are.
            cluster.getFileSystem().setPermission(new org.apache.hadoop.fs.Path("/"), new FsPermission("777"));
            answers.println(cluster.getURI());
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                answers.println(answer(cluster, line.strip().split(" ")));
            }
        }
        // Hadoop's idle threads would keep the process for a while.
        System.exit(0);
    }

    /** Starts a cluster that forgets what an earlier one left in the directory. */
    static MiniDFSCluster start(Configuration conf, Path dir, int port, int dataNodes) throws IOException {
        return new MiniDFSCluster.Builder(conf, dir.toFile())
                .nameNodePort(port)
                .numDataNodes(dataNodes)
                .build();
    }

    static Configuration configuration() {
        Configuration conf = new Configuration();
        conf.setInt("dfs.replication", 1);
        conf.setInt("dfs.namenode.handler.count", 4);
        conf.setInt("dfs.datanode.handler.count", 4);
        // A dead DataNode is noticed after seconds, not ten minutes.
        conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
        conf.setInt("dfs.heartbeat.interval", 1);
        return conf;
    }

    private static void secure(Configuration conf, String principal, String keytab) {
        conf.set("hadoop.security.authentication", "kerberos");
        conf.setBoolean("dfs.block.access.token.enable", true);
        conf.setBoolean("ignore.secure.ports.for.testing", true);
        for (String role : new String[] {"namenode", "datanode"}) {
            conf.set("dfs." + role + ".kerberos.principal", principal);
            conf.set("dfs." + role + ".keytab.file", keytab);
        }
        conf.set("dfs.web.authentication.kerberos.principal", principal);
        conf.set("dfs.web.authentication.kerberos.keytab", keytab);
        UserGroupInformation.setConfiguration(conf);
    }

    private static String answer(MiniDFSCluster cluster, String[] command) {
        try {
            switch (command[0]) {
                case "stop-namenode" -> cluster.shutdownNameNode(0);
                case "start-namenode" -> cluster.restartNameNode(0, true);
                case "stop-datanodes" -> cluster.shutdownDataNodes();
                default -> {
                    return "unknown " + command[0] + ": use stop-namenode, start-namenode or stop-datanodes";
                }
            }
            return "ok";
        } catch (IOException | RuntimeException e) {
            return "failed " + e;
        }
    }
}
