package guardian.kafka.suites;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;

/**
 * The RemoteLogMetadataManager that Kafka's tests judge: the class that the system property {@value #CLASS_NAME} names.
 *
 * <p>A suite that passes whatever it is given proves nothing. With {@value #OFF_BY_ONE} the manager is the same, but for
 * one answer that is wrong by one: then Kafka's tests must fail.
 */
public final class ManagerUnderTest {
    public static final String CLASS_NAME = "guardian.suites.manager";
    public static final String OFF_BY_ONE = "guardian.suites.off.by.one";

    private ManagerUnderTest() {
    }

    public static RemoteLogMetadataManager create() {
        RemoteLogMetadataManager manager = instance(className());
        return Boolean.getBoolean(OFF_BY_ONE) ? offByOne(manager) : manager;
    }

    public static String className() {
        return System.getProperty(CLASS_NAME, "guardian.kafka.GuardianRemoteLogMetadataManager");
    }

    private static RemoteLogMetadataManager instance(String className) {
        try {
            return Class.forName(className)
                .asSubclass(RemoteLogMetadataManager.class)
                .getDeclaredConstructor()
                .newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(
                CLASS_NAME + " is " + className + ": give a RemoteLogMetadataManager on the class path", error);
        }
    }

    private static RemoteLogMetadataManager offByOne(RemoteLogMetadataManager manager) {
        return (RemoteLogMetadataManager) Proxy.newProxyInstance(
            ManagerUnderTest.class.getClassLoader(),
            new Class<?>[] {RemoteLogMetadataManager.class},
            (proxy, method, arguments) -> {
                try {
                    Object answer = method.invoke(manager, arguments);
                    boolean isHighest = method.getName().equals("highestOffsetForEpoch");
                    return isHighest ? ((Optional<?>) answer).map(offset -> (Long) offset - 1) : answer;
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
    }
}
