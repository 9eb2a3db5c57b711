using System;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Meshreel.Tests
{
    /// <summary>Writes a C program that holds the declarations of the package against meshreel.h: sizes and offsets
    /// of structures, values of constants, and names, arguments and results of functions.</summary>
    public static class Layouts
    {
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
                    text.AppendLine("CHECK(offsetof(" + type.Name + ", " + field.Name + ") == " + Marshal.OffsetOf(type, field.Name) + ");");
                    text.AppendLine("CHECK(MEMBER(" + type.Name + ", " + field.Name + ") == " + Size(field) + ");");
                }
            }
            foreach (FieldInfo field in typeof(Native).GetFields(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
            {
                if (!field.IsLiteral || field.FieldType != typeof(uint)) continue;
                constants++;
                text.AppendLine("CHECK(MR_" + field.Name + " == " + field.GetRawConstantValue() + "u);");
            }
            text.AppendLine("int main(int count, char **all) {\n    (void)all;\n    if (count > 1000) {");
            foreach (MethodInfo method in typeof(Native).GetMethods(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
            {
                if (!method.Name.StartsWith("mr_")) continue;
                functions++;
                string arguments = string.Join(", ", method.GetParameters().Select(p => Zero(p.ParameterType)));
                text.AppendLine("        " + Result(method.ReturnType) + " r" + functions + " = " + method.Name + "(" + arguments + ");");
                text.AppendLine("        (void)r" + functions + ";");
            }
            text.AppendLine("    }\n    printf(\"" + structures + " structures, " + members + " members, " + constants
                + " constants, " + functions + " functions\\n\");\n    return 0;\n}");
            return text.ToString();
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

        /// <summary>An argument of exactly that type: a pointer passes for a number nowhere, nor the reverse.</summary>
        static string Zero(Type type)
        {
            if (type.IsPointer && type.GetElementType().Name.StartsWith("mr_")) return "(" + type.GetElementType().Name + " *)NULL";
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
