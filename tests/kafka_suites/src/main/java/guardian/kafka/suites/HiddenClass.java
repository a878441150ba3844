package guardian.kafka.suites;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A class that one of ours, of the same name and earlier on the class path, hides: found in the jar behind and loaded by a
 * loader of its own, so that ours can change one answer and leave every other to the original.
 */
public final class HiddenClass {
    private final Class<?> original;

    private HiddenClass(Class<?> original) {
        this.original = original;
    }

    public static HiddenClass behind(Class<?> ours) {
        return new HiddenClass(new LoaderOf(ours).original());
    }

    public <T> T constant(String name, Class<T> type) {
        try {
            return type.cast(original.getField(name).get(null));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(original + " has no constant " + name + ": another version of Kafka?", error);
        }
    }

    /** Calls a static method; what it throws comes out as it is. */
    public Object call(String name, Object... arguments) {
        Method method = Arrays.stream(original.getMethods())
            .filter(candidate -> candidate.getName().equals(name) && candidate.getParameterCount() == arguments.length)
            .findAny()
            .orElseThrow(() -> new IllegalStateException(original + " has no " + name + ": another version of Kafka?"));
        try {
            return method.invoke(null, arguments);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(method + " is not public: another version of Kafka?", error);
        } catch (InvocationTargetException error) {
            throw HiddenClass.<RuntimeException>asItIs(error.getCause());
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E asItIs(Throwable error) throws E {
        throw (E) error;
    }

    private static final class LoaderOf extends ClassLoader {
        private final String name;
        private final String file;

        LoaderOf(Class<?> ours) {
            super(ours.getClassLoader());
            name = ours.getName();
            file = name.replace('.', '/') + ".class";
        }

        Class<?> original() {
            try {
                List<URL> found = Collections.list(getParent().getResources(file));
                if (found.size() < 2) {
                    throw new IllegalStateException("the class path has only one " + file + ": put Kafka's test jars on it");
                }
                try (InputStream bytes = found.get(found.size() - 1).openStream()) {
                    byte[] code = bytes.readAllBytes();
                    return defineClass(name, code, 0, code.length);
                }
            } catch (IOException error) {
                throw new IllegalStateException(file + " can't be read", error);
            }
        }
    }
}
