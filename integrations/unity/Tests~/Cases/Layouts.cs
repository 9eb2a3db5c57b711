using System;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Meshreel.Tests
{
    /// <summary>Writes a C program that holds the declarations of the package against meshreel.h: sizes and
    /// offsets of structures, values of constants, and names, arguments and results of functions.</summary>
    public static class Layouts
    {
        const BindingFlags Everything =
            BindingFlags.Static | BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

        public static string Program()
        {
            var text = new StringBuilder("#include <meshreel.h>\n#include <stddef.h>\n#include <stdio.h>\n"
                + "#define CHECK(c) _Static_assert(c, #c)\n#define MEMBER(s, m) sizeof(((s *)0)->m)\n");
            int structures = 0, members = 0, constants = 0, functions = 0;
            foreach (Type type in typeof(Native).GetNestedTypes(BindingFlags.NonPublic | BindingFlags.Public))
            {
                if (!type.Name.StartsWith("mr_")) continue;
                structures++;
                text.AppendLine("CHECK(sizeof(" + type.Name + ") == " + Marshal.SizeOf(type) + ");");
                foreach (FieldInfo field in type.GetFields(BindingFlags.Instance | BindingFlags.Public))
                {
                    members++;
                    text.AppendLine("CHECK(offsetof(" + type.Name + ", " + field.Name + ") == "
                        + Marshal.OffsetOf(type, field.Name) + ");");
                    text.AppendLine("CHECK(MEMBER(" + type.Name + ", " + field.Name + ") == " + Size(field) + ");");
                }
            }
            foreach (FieldInfo field in typeof(Native).GetFields(Everything))
            {
                if (!field.IsLiteral || field.FieldType != typeof(uint)) continue;
                constants++;
                text.AppendLine("CHECK(MR_" + field.Name + " == " + field.GetRawConstantValue() + "u);");
            }
            text.AppendLine("int main(int count, char **all) {\n    (void)all;\n    if (count > 1000) {");
            foreach (MethodInfo method in typeof(Native).GetMethods(Everything))
            {
                if (!method.Name.StartsWith("mr_")) continue;
                functions++;
                string arguments = string.Join(", ", method.GetParameters().Select(p => Zero(p.ParameterType)));
                text.AppendLine("        " + Result(method.ReturnType) + " r" + functions + " = " + method.Name
                    + "(" + arguments + ");");
                text.AppendLine("        (void)r" + functions + ";");
            }
            text.AppendLine("    }\n    printf(\"" + structures + " structures, " + members + " members, " + constants
                + " constants, " + functions + " functions\\n\");\n    return 0;\n}");
            return text.ToString();
        }

        /// <summary>Writes the same checks of structures for systems whose pointers have 32 bits and whose
        /// numbers of 64 bits are aligned to 8 bytes: armv7 and WebAssembly. The rule of sequential layout
        /// gives the numbers; for this system it must give those of the runtime.</summary>
        public static string Program32()
        {
            var text = new StringBuilder("#include <meshreel.h>\n#include <stddef.h>\n");
            text.AppendLine("#define CHECK(c) _Static_assert(c, #c)");
            foreach (Type type in typeof(Native).GetNestedTypes(BindingFlags.NonPublic | BindingFlags.Public))
            {
                if (!type.Name.StartsWith("mr_")) continue;
                if (Sequential(type, IntPtr.Size, null).Item1 != Marshal.SizeOf(type))
                    throw new Failure("the rule fails for " + type.Name);
                int size = Sequential(type, 4, (field, offset) =>
                    text.AppendLine("CHECK(offsetof(" + type.Name + ", " + field + ") == " + offset + ");")).Item1;
                text.AppendLine("CHECK(sizeof(" + type.Name + ") == " + size + ");");
            }
            return text.ToString();
        }

        /// <summary>Size and alignment of a type.</summary>
        static Tuple<int, int> Sequential(Type type, int pointer, Action<string, int> member)
        {
            if (type.IsPointer || type == typeof(IntPtr) || type == typeof(UIntPtr)) return Tuple.Create(pointer,
                pointer);
            if (type.IsPrimitive) return Tuple.Create(Marshal.SizeOf(type), Marshal.SizeOf(type));
            int offset = 0, alignment = 1;
            foreach (FieldInfo field in type.GetFields(Everything).OrderBy(f => f.MetadataToken))
            {
                var buffer = (FixedBufferAttribute)Attribute.GetCustomAttribute(field, typeof(FixedBufferAttribute));
                Tuple<int, int> own = Sequential(buffer != null ? buffer.ElementType : field.FieldType, pointer, null);
                offset = (offset + own.Item2 - 1) / own.Item2 * own.Item2;
                if (member != null) member(field.Name, offset);
                offset += own.Item1 * (buffer != null ? buffer.Length : 1);
                alignment = Math.Max(alignment, own.Item2);
            }
            return Tuple.Create((offset + alignment - 1) / alignment * alignment, alignment);
        }

        static int Size(FieldInfo field)
        {
            var buffer = (FixedBufferAttribute)Attribute.GetCustomAttribute(field, typeof(FixedBufferAttribute));
            if (buffer != null) return buffer.Length * Marshal.SizeOf(buffer.ElementType);
            return field.FieldType.IsPointer ? IntPtr.Size : Marshal.SizeOf(field.FieldType);
        }

        static string Result(Type type)
        {
            return type == typeof(IntPtr) ? "const char *" : type == typeof(UIntPtr) ? "size_t" : "uint32_t";
        }

        /// <summary>An argument of exactly that type: a pointer passes for a number nowhere, nor the
        /// reverse.</summary>
        static string Zero(Type type)
        {
            if (type.IsPointer && type.GetElementType().Name.StartsWith("mr_")) return "("
                + type.GetElementType().Name + " *)NULL";
            if (type.IsPointer || type == typeof(IntPtr)) return "NULL";
            if (type == typeof(uint)) return "(uint32_t)0";
            if (type == typeof(int)) return "(int32_t)0";
            if (type == typeof(ulong)) return "(uint64_t)0";
            if (type == typeof(UIntPtr)) return "(size_t)0";
            if (type == typeof(float)) return "0.0f";
            if (type == typeof(double)) return "0.0";
            return "(" + type.Name + "){0}";
        }
    }
}
