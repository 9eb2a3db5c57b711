using System;
using System.Collections.Generic;
using UnityEngine;

namespace Meshreel
{
    /// <summary>Shows any moment of a file in the editor, where no game runs: for inspectors and
    /// timelines.</summary>
    public sealed class ReelPreview : IDisposable
    {
        static readonly List<ReelPreview> all = new List<ReelPreview>();

        readonly ReelFile file;
        readonly ReelDecoder decoder;

        /// <summary>The objects that are shown; they are not saved with the scene.</summary>
        public ReelView View { get; private set; }

        /// <summary>The file.</summary>
        public ReelFile File
        {
            get { return file; }
        }

        /// <summary>Opens the file of an asset or else of a path, and creates its objects below a
        /// parent.</summary>
        public ReelPreview(ReelAsset asset, string path, Transform parent, ReelMaterials materials)
        {
            string pathToOpen = asset != null ? asset.PathToOpen : path;
            if (asset != null && pathToOpen == null)
            {
                if (asset.Bytes == null) throw new ReelException(ReelStatus.Misuse, asset.name + ": it is empty");
                file = ReelFile.Open(asset.Bytes, asset.name);
            }
            else if (string.IsNullOrEmpty(pathToOpen))
            {
                throw new ReelException(ReelStatus.Misuse, "neither an asset nor a path is set");
            }
            else file = ReelFile.Open(SharedFile.FullPath(pathToOpen));
            try
            {
                if (file.Frames == 0) throw new ReelException(ReelStatus.Misuse, file.Name + ": it has no frames");
                decoder = new ReelDecoder(file);
                View = ReelView.Create(decoder, parent, materials);
            }
            catch
            {
                Dispose();
                throw;
            }
            all.Add(this);
        }

        /// <summary>Shows the frame that is nearest to a time in seconds, and returns its number. If it
        /// cannot be decoded, that is logged, and what is shown remains.</summary>
        public int Show(double seconds)
        {
            try
            {
                return decoder.Show(seconds, View);
            }
            catch (ReelException error)
            {
                Debug.LogError("meshreel: " + error.Message);
                return View.Frame;
            }
        }

        /// <summary>Ends all previews, as before a game begins or assemblies are loaded anew.</summary>
        public static void EndAll()
        {
            while (all.Count > 0) all[all.Count - 1].Dispose();
        }

        /// <summary>Destroys the objects and closes the file.</summary>
        public void Dispose()
        {
            all.Remove(this);
            if (View != null) View.Dispose();
            View = null;
            if (decoder != null) decoder.Dispose();
            if (file != null) file.Dispose();
        }
    }
}
