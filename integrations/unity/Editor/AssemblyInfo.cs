using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Meshreel.Tests")]
