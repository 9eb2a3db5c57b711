using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Meshreel.Tests
{
    /// <summary>Lists the public methods of the package, in the form in which mono traces calls: the test
    /// script checks that the tests have called each.</summary>
    public static class PublicMethods
    {
        public static IEnumerable<string> All()
        {
            Assembly[] assemblies =
                { typeof(ReelPlayer).Assembly, typeof(Timeline.ReelTrack).Assembly,
                    typeof(Editor.ReelImporter).Assembly };
            foreach (Type type in assemblies.SelectMany(a => a.GetExportedTypes()))
            {
                if (typeof(Delegate).IsAssignableFrom(type) || type.IsEnum || type.IsInterface) continue;
                const BindingFlags own =
                    BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;
                string name = type.FullName.Replace('+', '/');
                foreach (MethodInfo method in type.GetMethods(own)) yield return name + ":" + method.Name;
                foreach (ConstructorInfo constructor in type.GetConstructors(own)) yield return name + ":.ctor";
            }
        }
    }
}
