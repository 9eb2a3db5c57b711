using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Meshreel.Editor")]
[assembly: InternalsVisibleTo("Meshreel.Timeline")]
[assembly: InternalsVisibleTo("Meshreel.Tests")]
